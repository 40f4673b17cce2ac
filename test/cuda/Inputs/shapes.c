/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shapes MODEL.so DEVICE: a run is never replayed for other sizes. Every buffer
 * stays where it is (the largest size comes first), and so many shapes are asked for in between
 * that the session makes the next plan in the place of the last one (it keeps 32). */
#include <kiln-c/Loader.h>
#include <kiln-c/Runtime.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kColumns = 12, kResults = 20, kRows = 64, kRepeats = 3, kOthers = 31 };

static void check(kiln_status_t status, const char *what) {
  if (status == KILN_OK)
    return;
  fprintf(stderr, "%s: %s\n", what, kiln_status_name(status));
  exit(1);
}

static DLTensor tensor(float *data, int64_t *shape) {
  DLTensor result = {0};
  result.data = data;
  result.device.device_type = kDLCPU;
  result.ndim = 2;
  result.dtype.code = kDLFloat;
  result.dtype.bits = 32;
  result.dtype.lanes = 1;
  result.shape = shape;
  return result;
}

static float x[kRows * kColumns], got[kRows * kResults], expected[kRows * kResults];

static void run(kiln_session *session, int64_t rows, float *result) {
  int64_t in[2] = {rows, kColumns}, out[2] = {rows, kResults};
  DLTensor input = tensor(x, in), output = tensor(result, out);
  const DLTensor *inputs[] = {&input};
  DLTensor *outputs[] = {&output};
  check(kiln_run(session, inputs, 1, outputs, 1, NULL), kiln_session_error(session));
}

static void askForShape(kiln_session *session, int64_t rows) {
  int64_t in[2] = {rows, kColumns}, out[2];
  DLTensor input = tensor(NULL, in), output = tensor(NULL, out);
  const DLTensor *inputs[] = {&input};
  DLTensor *outputs[] = {&output};
  check(kiln_output_shapes(session, inputs, 1, outputs, 1), kiln_session_error(session));
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  kiln_artefact *artefact;
  kiln_model *model;
  kiln_session *host, *device;
  check(kiln_open(argv[1], NULL, &artefact), "open");
  check(kiln_model_open(kiln_artefact_api(artefact), NULL, &model), "model");
  kiln_session_options options = {.struct_size = sizeof options, .device = "cpu", .threads = 1};
  check(kiln_session_create(model, &options, &host), "host");
  options.device = argv[2];
  check(kiln_session_create(model, &options, &device), "device");
  run(device, kRows, got);
  for (int other = 0; other != kOthers; ++other)
    askForShape(device, 1000 + other);
  for (int64_t rows = 1; rows <= kRows; rows *= 2) {
    for (int repeat = 0; repeat != kRepeats; ++repeat) {
      for (int i = 0; i != kRows * kColumns; ++i)
        x[i] = (float)((i * 31 + repeat * 17 + rows) % 23 - 11) / 8;
      run(host, rows, expected);
      for (int i = 0; i != kRows * kResults; ++i)
        got[i] = NAN;
      run(device, rows, got);
      for (int64_t i = 0; i != rows * kResults; ++i)
        if (!(fabsf(got[i] - expected[i]) <= 1e-5f)) {
          fprintf(stderr, "%d rows, run %d, element %d: got %g, expected %g\n", (int)rows, repeat,
                  (int)i, (double)got[i], (double)expected[i]);
          return 1;
        }
    }
    for (int other = 0; other != kOthers; ++other)
      askForShape(device, 1000 + other);
  }
  check(kiln_session_destroy(device), "device");
  check(kiln_session_destroy(host), "host");
  check(kiln_model_close(model), "model");
  check(kiln_close(artefact), "close");
  return 0;
}
