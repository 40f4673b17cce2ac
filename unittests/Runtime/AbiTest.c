/*===- AbiTest.c - The C interface from plain C11 -------------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
\*===----------------------------------------------------------------------===*/
#include "kiln-c/ArtefactNote.h"
#include "kiln-c/Batcher.h"
#include "kiln-c/Loader.h"
#include "kiln-c/ModuleABI.h"

#include <stdio.h>
#include <string.h>

static int fail(const char *what, const char *reason) {
  fprintf(stderr, "%s: %s\n", what, reason);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return fail("usage", "kiln-abi-test model.so");
  char reason[256] = "";
  kiln_open_options open_options = {
      .struct_size = sizeof open_options, .error = reason, .error_size = sizeof reason};
  kiln_artefact *artefact = NULL;
  if (kiln_open(argv[1], &open_options, &artefact) != KILN_OK)
    return fail("kiln_open", reason);
  kiln_model *model = NULL;
  kiln_session *session = NULL;
  kiln_session_options options = {.struct_size = sizeof options, .threads = 2};
  if (kiln_model_open(kiln_artefact_api(artefact), NULL, &model) != KILN_OK ||
      kiln_session_create(model, &options, &session) != KILN_OK)
    return fail("session", "not made");

  kiln_model_info info = {.struct_size = sizeof info};
  const kiln_tensor_spec *spec = kiln_model_input(model, 0);
  if (kiln_model_get_info(model, &info) != KILN_OK || strcmp(info.name, "test") != 0 ||
      info.num_inputs != 2 || info.num_outputs != 3 || !spec || strcmp(spec->name, "x") != 0 ||
      spec->rank != 2 || spec->dims[0].lo != 1 || spec->dims[0].hi != 64 ||
      strcmp(spec->dims[0].symbol, "n") != 0 || kiln_model_input(model, 2) ||
      !(kiln_model_input(model, 1)->flags & KILN_TENSOR_OPTIONAL) ||
      !(kiln_model_output(model, 2)->flags & KILN_TENSOR_LATE))
    return fail("specs", "not those of the test model");

  if (strcmp(kiln_artefact_manifest(artefact), "") != 0 ||
      strcmp(kiln_model_manifest(model), "") != 0 || kiln_artefact_manifest(NULL))
    return fail("manifest", "the test model has none");

  float x[2 * 8], y[2 * 4];
  int64_t x_shape[] = {2, 8}, y_shape[] = {2, 4};
  for (int i = 0; i != 16; ++i)
    x[i] = 0.5f;
  DLTensor input = {
      .data = x, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = x_shape};
  DLTensor output = input, own = {0}, late = {0};
  output.data = y;
  output.shape = y_shape;
  const DLTensor *inputs[] = {&input};
  DLTensor *outputs[] = {&output, &own, &late};
  if (kiln_run(session, inputs, 1, outputs, 3, NULL) != KILN_OK)
    return fail("kiln_run", kiln_session_error(session));
  /* 0.5 * (36 * 0.125) = 2.25, and 0.5 * 8 * 0.5 = 2 less for each unit. */
  if (y[0] != 2.25f || y[1] != 1.25f || y[2] != 0.0f || own.shape[0] != 4 ||
      ((const float *)own.data)[8] != 5.5f)
    return fail("kiln_run", "wrong result");

  x_shape[1] = 9;
  if (kiln_run(session, inputs, 1, outputs, 3, NULL) != KILN_INVALID_SHAPE ||
      strcmp(kiln_status_name(KILN_INVALID_SHAPE), "invalid shape") != 0)
    return fail("kiln_run", "took a wrong shape");
  if (kiln_close(artefact) != KILN_BUSY)
    return fail("kiln_close", "closed what is in use");
  if (kiln_session_destroy(session) != KILN_OK || kiln_model_close(model) != KILN_OK ||
      kiln_close(artefact) != KILN_OK)
    return fail("closing", "refused");
  return 0;
}
