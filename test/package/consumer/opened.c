/* Opens the artefact that it is given with libkiln. Part of Kiln, under the Apache License v2.0
 * with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "run.h"
#include <kiln-c/Loader.h>

int main(int argc, char **argv) {
  char error[256] = "";
  kiln_open_options options = {
      .struct_size = sizeof(options), .error = error, .error_size = sizeof(error)};
  kiln_artefact *artefact;
  if (argc != 2 || kiln_open(argv[1], &options, &artefact) != KILN_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  float x[3] = {1, 2, 3}, y[3], expected[3] = {1.5f, 3.5f, 9};
  int failed = run(kiln_artefact_api(artefact), x, y, 1, 3) + differ(y, expected, 3);
  failed += kiln_close(artefact) != KILN_OK;
  return failed != 0;
}
