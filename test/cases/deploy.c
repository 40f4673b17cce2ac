/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The reported cases that need a program around the artefact: threads, fork, dlclose, pointers,
 * strides.
 *
 *   usage: deploy CASE MODEL.so [MODEL.so]
 *
 * Exit code 0 when all holds; else 1, with a line that says what does not.
 */
#define _GNU_SOURCE
#include "kiln-c/Loader.h"
#include "kiln-c/Runtime.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

typedef struct {
  kiln_artefact *artefact;
  kiln_model *model;
} Opened;

static Opened openModel(const char *path) {
  char reason[512] = "";
  kiln_open_options options = {
      .struct_size = sizeof options, .error = reason, .error_size = sizeof reason};
  Opened opened;
  kiln_status_t status = kiln_open(path, &options, &opened.artefact);
  if (status == KILN_OK)
    status = kiln_model_open(kiln_artefact_api(opened.artefact), NULL, &opened.model);
  if (status != KILN_OK)
    fail("open %s: %s: %s", path, kiln_status_name(status), reason);
  return opened;
}

static void closeModel(Opened opened) {
  if (kiln_model_close(opened.model) != KILN_OK || kiln_close(opened.artefact) != KILN_OK)
    fail("close failed: something is left");
}

static kiln_session *newSession(Opened opened, uint32_t threads) {
  kiln_session_options options = {.struct_size = sizeof options, .threads = threads};
  kiln_session *session;
  kiln_status_t status = kiln_session_create(opened.model, &options, &session);
  if (status != KILN_OK)
    fail("session: %s", kiln_status_name(status));
  return session;
}

static DLTensor floats(void *data, int rank, int64_t *shape) {
  return (DLTensor){.data = data,
                    .device = {kDLCPU, 0},
                    .ndim = rank,
                    .dtype = {kDLFloat, 32, 1},
                    .shape = shape};
}

static kiln_status_t run1(kiln_session *session, DLTensor *x, DLTensor *y) {
  const DLTensor *inputs[] = {x};
  DLTensor *outputs[] = {y};
  return kiln_run(session, inputs, 1, outputs, 1, NULL);
}

static void mustRun(kiln_session *session, DLTensor *x, DLTensor *y) {
  kiln_status_t status = run1(session, x, y);
  if (status != KILN_OK)
    fail("run: %s: %s", kiln_status_name(status), kiln_session_error(session));
}

static void mustEqual(const float *got, const float *expected, size_t count, const char *what) {
  for (size_t i = 0; i != count; ++i)
    if (!(fabsf(got[i] - expected[i]) <= 1e-6f + 1e-5f * fabsf(expected[i])))
      fail("%s: element %zu is %g, expected %g", what, i, got[i], expected[i]);
}

static int countEntries(const char *folder) {
  int count = 0;
  DIR *dir = opendir(folder);
  while (dir && readdir(dir))
    ++count;
  if (dir)
    closedir(dir);
  return count;
}

static long residentPages(void) {
  long total = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
    resident = 0;
  if (file)
    fclose(file);
  return resident;
}

/*--- Many threads, one model: f32[4,64] to f32[4,64] ------------------------*/

enum { kElements = 4 * 64 };

typedef struct {
  Opened opened;
  int seed, runs;
  float x[kElements], expected[kElements];
} Worker;

static void *work(void *argument) {
  Worker *worker = argument;
  kiln_session *session = newSession(worker->opened, 1);
  for (int i = 0; i != worker->runs; ++i) {
    float y[kElements];
    int64_t shape[] = {4, 64};
    DLTensor in = floats(worker->x, 2, shape), out = floats(y, 2, shape);
    mustRun(session, &in, &out);
    if (memcmp(y, worker->expected, sizeof y) != 0)
      fail("thread %d, run %d: another result than alone", worker->seed, i);
  }
  kiln_session_destroy(session);
  return NULL;
}

static void caseThreads(char **paths) {
  Opened opened = openModel(paths[0]);
  static Worker workers[8];
  pthread_t threads[8];
  kiln_session *session = newSession(opened, 1);
  for (int t = 0; t != 8; ++t) {
    Worker *worker = &workers[t];
    worker->opened = opened;
    worker->seed = t;
    worker->runs = 2000;
    for (int i = 0; i != kElements; ++i)
      worker->x[i] = (float)((i * 37 + t * 101) % 200) / 100 - 1;
    int64_t shape[] = {4, 64};
    DLTensor in = floats(worker->x, 2, shape), out = floats(worker->expected, 2, shape);
    mustRun(session, &in, &out);
  }
  kiln_session_destroy(session);
  for (int t = 0; t != 8; ++t)
    pthread_create(&threads[t], NULL, work, &workers[t]);
  for (int t = 0; t != 8; ++t)
    pthread_join(threads[t], NULL);
  closeModel(opened);
}

/*--- Two artefacts with work for many threads: f32[2048,2048] ---------------*/

typedef struct {
  const char *path;
  float added;
} Large;

static void *runLarge(void *argument) {
  Large *large = argument;
  Opened opened = openModel(large->path);
  kiln_session *session = newSession(opened, 2);
  size_t count = 2048 * 2048;
  float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
  for (size_t i = 0; i != count; ++i)
    x[i] = (float)(i % 1000);
  int64_t shape[] = {2048, 2048};
  DLTensor in = floats(x, 2, shape), out = floats(y, 2, shape);
  for (int run = 0; run != 20; ++run) {
    memset(y, 0, count * sizeof *y);
    mustRun(session, &in, &out);
    for (size_t i = 0; i != count; ++i)
      if (y[i] != x[i] + large->added)
        fail("%s: element %zu is %g", large->path, i, y[i]);
  }
  free(x);
  free(y);
  kiln_session_destroy(session);
  closeModel(opened);
  return NULL;
}

static void caseTwoModels(char **paths) {
  Large large[] = {{paths[0], 1}, {paths[1], 2}};
  pthread_t threads[2];
  for (int t = 0; t != 2; ++t)
    pthread_create(&threads[t], NULL, runLarge, &large[t]);
  for (int sample = 0; sample != 20; ++sample) {
    usleep(5000);
    int running = countEntries("/proc/self/task") - 2;
    if (running > 3 + 2 * 2)
      fail("%d threads are running", running);
  }
  for (int t = 0; t != 2; ++t)
    pthread_join(threads[t], NULL);
  int left = countEntries("/proc/self/task") - 2;
  if (left != 1)
    fail("%d threads are left", left);
}

/*--- Opening and closing: y = 2x + 1 on f32[1000] ---------------------------*/

static void checkLine(kiln_session *session, void *x, void *y) {
  static float in[1000], out[1000], expected[1000];
  int64_t shape[] = {1000};
  for (int i = 0; i != 1000; ++i) {
    in[i] = (float)i - 500;
    expected[i] = in[i] * 2 + 1;
  }
  memcpy(x, in, sizeof in);
  DLTensor xs = floats(x, 1, shape), ys = floats(y, 1, shape);
  mustRun(session, &xs, &ys);
  memcpy(out, y, sizeof out);
  mustEqual(out, expected, 1000, "y = 2x + 1");
}

static void *openRunClose(void *path) {
  Opened opened = openModel(path);
  kiln_session *session = newSession(opened, 2);
  float x[1000], y[1000];
  checkLine(session, x, y);
  kiln_session_destroy(session);
  closeModel(opened);
  return NULL;
}

static void caseReopen(char **paths) {
  long settled = 0;
  int threads = countEntries("/proc/self/task"), files = 0;
  for (int i = 0; i != 200; ++i) {
    if (i % 4 == 3) {
      pthread_t thread;
      pthread_create(&thread, NULL, openRunClose, paths[0]);
      pthread_join(thread, NULL);
    } else {
      openRunClose(paths[0]);
    }
    if (i == 50) {
      settled = residentPages();
      files = countEntries("/proc/self/fd");
    }
  }
  if (countEntries("/proc/self/task") != threads)
    fail("threads are left behind");
  if (countEntries("/proc/self/fd") != files)
    fail("file descriptors are left behind");
  if (residentPages() > settled + 512)
    fail("memory grew from %ld to %ld pages", settled, residentPages());
  Opened one = openModel(paths[0]), two = openModel(paths[0]);
  kiln_session *first = newSession(one, 1), *second = newSession(two, 1);
  float x[1000], y[1000];
  checkLine(first, x, y);
  checkLine(second, x, y);
  kiln_session_destroy(first);
  closeModel(one);
  checkLine(second, x, y);
  kiln_session_destroy(second);
  closeModel(two);
}

static void casePointers(char **paths) {
  Opened opened = openModel(paths[0]);
  kiln_session *session = newSession(opened, 1);
  char *in = aligned_alloc(64, 8192), *out = aligned_alloc(64, 8192);
  for (int x = 0; x <= 16; ++x)
    for (int y = 0; y <= 16; y += 4)
      checkLine(session, in + x, out + y);
  /* Odd output addresses: right, or an error that says so. */
  int64_t shape[] = {1000};
  DLTensor xs = floats(in, 1, shape), ys = floats(out + 1, 1, shape);
  kiln_status_t status = run1(session, &xs, &ys);
  if (status == KILN_OK)
    checkLine(session, in, out + 1);
  else if (!*kiln_session_error(session))
    fail("an odd output address gives %s without a text", kiln_status_name(status));
  /* The same memory as input and output. */
  checkLine(session, in, in);
  /* No memory at all. */
  xs.data = NULL;
  ys.data = out;
  if (run1(session, &xs, &ys) == KILN_OK)
    fail("a null input was taken");
  kiln_session_destroy(session);
  closeModel(opened);
}

static void caseFork(char **paths) {
  Opened opened = openModel(paths[0]);
  kiln_session *session = newSession(opened, 2);
  float x[1000], y[1000];
  checkLine(session, x, y);
  pid_t children[4];
  for (int i = 0; i != 4; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      alarm(30);
      for (int run = 0; run != 100; ++run)
        checkLine(session, x, y);
      kiln_session *other = newSession(opened, 2);
      checkLine(other, x, y);
      kiln_session_destroy(other);
      _exit(0);
    }
  }
  for (int i = 0; i != 4; ++i) {
    int status;
    waitpid(children[i], &status, 0);
    if (status != 0)
      fail("child %d ended with %#x", i, (unsigned)status);
  }
  checkLine(session, x, y);
  kiln_session_destroy(session);
  closeModel(opened);
}

/*--- Strided inputs: y = x + 0 on f32[2,3] ----------------------------------*/

static void caseStrides(char **paths) {
  Opened opened = openModel(paths[0]);
  kiln_session *session = newSession(opened, 1);
  float data[] = {0, 1, 2, 3, 4, 5}, y[6];
  static const struct {
    int offset;
    int64_t strides[2];
    float expected[6];
  } views[] = {
      {0, {1, 2}, {0, 2, 4, 1, 3, 5}},  {5, {-3, -1}, {5, 4, 3, 2, 1, 0}},
      {2, {3, -1}, {2, 1, 0, 5, 4, 3}}, {1, {0, 1}, {1, 2, 3, 1, 2, 3}},
      {4, {0, 0}, {4, 4, 4, 4, 4, 4}},  {0, {3, 1}, {0, 1, 2, 3, 4, 5}},
  };
  for (size_t i = 0; i != sizeof views / sizeof *views; ++i)
    for (int useOffset = 0; useOffset != 2; ++useOffset) {
      int64_t shape[] = {2, 3}, strides[] = {views[i].strides[0], views[i].strides[1]};
      DLTensor in = floats(useOffset ? data : data + views[i].offset, 2, shape),
               out = floats(y, 2, shape);
      in.byte_offset = useOffset ? (uint64_t)views[i].offset * sizeof *data : 0;
      in.strides = strides;
      kiln_status_t status = run1(session, &in, &out);
      if (status == KILN_OK)
        mustEqual(y, views[i].expected, 6, "strided input");
      else if (!strstr(kiln_session_error(session), "stride") &&
               !strstr(kiln_session_error(session), "contiguous"))
        fail("view %zu: %s: %s", i, kiln_status_name(status), kiln_session_error(session));
    }
  kiln_session_destroy(session);
  closeModel(opened);
}

/*--- Softmax(x I) on f32[N,2], then a model of N = 1 ------------------------*/

static void caseBatch(char **paths) {
  Opened opened = openModel(paths[0]);
  kiln_session *session = newSession(opened, 1);
  float x[] = {0, 0, logf(3), 0, 0, logf(4)}, y[6];
  static const float expected[] = {.5f, .5f, .75f, .25f, .2f, .8f};
  static const int64_t sizes[] = {1, 3, 2, 0, 3};
  for (size_t i = 0; i != sizeof sizes / sizeof *sizes; ++i) {
    int64_t shape[] = {sizes[i], 2}, outShape[] = {-1, -1};
    DLTensor in = floats(x, 2, shape), out = floats(NULL, 2, outShape);
    const DLTensor *inputs[] = {&in};
    DLTensor *outputs[] = {&out};
    if (kiln_output_shapes(session, inputs, 1, outputs, 1) != KILN_OK || outShape[0] != sizes[i] ||
        outShape[1] != 2)
      fail("output shape of N=%d: [%d, %d]", (int)sizes[i], (int)outShape[0], (int)outShape[1]);
    out = floats(y, 2, outShape);
    memset(y, 0, sizeof y);
    mustRun(session, &in, &out);
    mustEqual(y, expected, (size_t)sizes[i] * 2, "batch");
  }
  kiln_session_destroy(session);
  closeModel(opened);
  opened = openModel(paths[1]);
  session = newSession(opened, 1);
  int64_t shape[] = {3, 2};
  DLTensor in = floats(x, 2, shape), out = floats(y, 2, shape);
  kiln_status_t status = run1(session, &in, &out);
  if (status != KILN_INVALID_SHAPE || !strstr(kiln_session_error(session), "3"))
    fail("N=3 for a model of N=1: %s: %s", kiln_status_name(status), kiln_session_error(session));
  kiln_session_destroy(session);
  closeModel(opened);
}

/*--- Outputs that are constants or inputs -----------------------------------*/

static void caseAlias(char **paths) {
  Opened opened = openModel(paths[0]);
  kiln_session *session = newSession(opened, 1);
  float *x = malloc(sizeof *x);
  *x = 2.3f;
  DLTensor in = floats(x, 0, NULL), v = floats(NULL, 0, NULL), same = floats(NULL, 0, NULL);
  const DLTensor *inputs[] = {&in};
  DLTensor *outputs[] = {&v, &same};
  if (kiln_run(session, inputs, 1, outputs, 2, NULL) != KILN_OK)
    fail("run: %s", kiln_session_error(session));
  *x = -1;
  free(x);
  float got = *(const float *)((const char *)same.data + same.byte_offset);
  if (got != 2.3f)
    fail("the output changes with the caller's input: %g", got);
  kiln_session_destroy(session);
  closeModel(opened);
}

static void caseConstant(char **paths) {
  Opened opened = openModel(paths[0]);
  kiln_session *session = newSession(opened, 1);
  float x[] = {-1, 2};
  static const float expected[] = {7, 8};
  int64_t shape[] = {2};
  for (int run = 0; run != 3; ++run) {
    /* The session's memory, and the caller's: both may be written by the caller. */
    float mine[2] = {0, 0};
    int64_t outShape[] = {2};
    DLTensor in = floats(x, 1, shape), y = floats(NULL, 1, NULL),
             w = floats(run == 1 ? mine : NULL, 1, outShape);
    const DLTensor *inputs[] = {&in};
    DLTensor *outputs[] = {&y, &w};
    if (kiln_run(session, inputs, 1, outputs, 2, NULL) != KILN_OK)
      fail("run: %s", kiln_session_error(session));
    float *data = (float *)((char *)w.data + w.byte_offset);
    mustEqual(data, expected, 2, "w");
    data[0] = data[1] = -5;
  }
  kiln_session_destroy(session);
  closeModel(opened);
}

static void caseDefault(char **paths) {
  Opened opened = openModel(paths[0]);
  kiln_session *session = newSession(opened, 1);
  float x[] = {1, 2}, w[] = {10, 10}, y[2];
  static const float expected[2][2] = {{2, 3}, {11, 12}};
  int64_t shape[] = {2};
  DLTensor in = floats(x, 1, shape), override = floats(w, 1, shape), out = floats(y, 1, shape);
  for (int run = 0; run != 3; ++run) {
    const DLTensor *inputs[] = {&in, run == 1 ? &override : NULL};
    DLTensor *outputs[] = {&out};
    if (kiln_run(session, inputs, 2, outputs, 1, NULL) != KILN_OK)
      fail("run %d: %s", run, kiln_session_error(session));
    mustEqual(y, expected[run == 1], 2, run == 1 ? "given" : "default");
  }
  kiln_session_destroy(session);
  closeModel(opened);
}

static const struct {
  const char *name;
  int models;
  void (*run)(char **paths);
} cases[] = {
    {"threads", 1, caseThreads},   {"two-models", 2, caseTwoModels},
    {"reopen", 1, caseReopen},     {"pointers", 1, casePointers},
    {"fork", 1, caseFork},         {"strides", 1, caseStrides},
    {"batch", 2, caseBatch},       {"alias", 1, caseAlias},
    {"constant", 1, caseConstant}, {"default", 1, caseDefault},
};

int main(int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i != sizeof cases / sizeof *cases; ++i)
    if (strcmp(argv[1], cases[i].name) == 0 && argc == 2 + cases[i].models) {
      cases[i].run(argv + 2);
      puts("holds");
      return 0;
    }
  fail("usage: deploy CASE MODEL.so [MODEL.so]");
}
