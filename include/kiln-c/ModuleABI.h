/*===- kiln-c/ModuleABI.h - Between generated code and its runtime --------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* The one header that compiler and runtime share. The compiler emits one     *|
|* `kiln_module` as read-only data plus the functions that it points to; the  *|
|* runtime, linked into the same shared object, reads it and calls them.      *|
|* Users of an artefact never see this header: kiln-c/Runtime.h is theirs.    *|
|*                                                                            *|
|* A change to a struct below is a new KILN_MODULE_ABI; the emitter           *|
|* (lib/Target/CPU/ModuleTable) changes with it. The asserts at the end       *|
|* keep both sides honest.                                                    *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_MODULEABI_H
#define KILN_C_MODULEABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_MODULE_MAGIC 0x4d4e4c4bu /* "KLNM" */
#define KILN_MODULE_ABI_MAJOR 2
#define KILN_MODULE_ABI_MINOR 0

/* Alignment in bytes of the arena, of every buffer in it, of every constant in
 * the weights section and of the scratch area. */
#define KILN_MODULE_ALIGNMENT 64

/* No generated launch asks for more chunks: chunking never depends on the
 * number of threads, so results do not either. */
#define KILN_MODULE_MAX_CHUNKS 16

/* An element type as DLPack writes it (lanes is 1): kDLInt 0, kDLUInt 1,
 * kDLFloat 2, kDLBfloat 4, kDLBool 6 (8 bits, 0 or 1), kDLFloat8_e4m3fn 10 ...
 * kDLFloat4_e2m1fn 17. Types of less than 8 bits are never packed: an element
 * takes a byte (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED). */
typedef struct kiln_module_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} kiln_module_dtype;

/* One dimension of an input or output. */
typedef struct kiln_module_dim {
  int64_t size;     /* elements when static, else -1 */
  int32_t symbol;   /* index into kiln_module::symbols when the dimension is exactly
                     * that symbol, else -1 (static, or an expression) */
  int32_t reserved; /* 0 */
  const char *text; /* what a person reads: "3", "batch", "2*seq" */
} kiln_module_dim;

enum {
  /* Output: its dims are known only while the run is under way (NonZero ...).
   * The generated code asks services->late_output for its memory. */
  KILN_MODULE_TENSOR_LATE = 1u,
  /* Input: an initialiser stands behind it, the caller may leave it out. */
  KILN_MODULE_TENSOR_OPTIONAL = 2u,
};

typedef struct kiln_module_tensor {
  const char *name; /* as in the ONNX file, UTF-8 */
  kiln_module_dtype dtype;
  uint32_t rank;
  const kiln_module_dim *dims; /* rank entries */
  uint32_t flags;
  /* Input with KILN_MODULE_TENSOR_OPTIONAL: offset of its default in the
   * weights section; else 0. */
  uint32_t reserved;
  uint64_t default_offset;
} kiln_module_tensor;

/* A symbol is an int64 that inputs decide. The first `num_input_symbols` are
 * dimensions of inputs (every one stands alone as some input's dim): the
 * runtime binds them, checks that equal symbols are equal and lie in
 * [lo, hi]. bind() computes the next ones; late ones are written by run(). */
typedef struct kiln_module_symbol {
  const char *name;
  int64_t lo;
  int64_t hi;
} kiln_module_symbol;

/* A buffer in the arena. It lives from step `first` to step `last` of run(),
 * inclusive; two buffers whose lives do not meet may share bytes. (Steps are
 * launches and what happens between them, in the order of the program's text; a
 * buffer that a loop uses but does not make lives through all of its steps.)
 * Its size is what sizes() says, in bytes. */
typedef struct kiln_module_buffer {
  uint32_t first;
  uint32_t last;
} kiln_module_buffer;

/* A row of the profile and of the report. `flops` and `bytes` are per run at
 * the sizes known at compile time, 0 when they are not known. */
typedef struct kiln_module_launch {
  const char *kernel; /* name of the kernel, as in --emit=plan */
  const char *nodes;  /* ONNX nodes that it computes, comma separated */
} kiln_module_launch;

/* A named part of the weights section (reports, integrity checks). */
typedef struct kiln_module_weight {
  const char *name;
  uint64_t offset; /* multiple of KILN_MODULE_ALIGNMENT */
  uint64_t size;   /* bytes, without padding */
  uint32_t crc32c; /* of those bytes */
  uint32_t reserved;
} kiln_module_weight;

/* Why bind() or run() gave up: `constraint` indexes kiln_module::constraints,
 * whose text explains the rule ("dim 1 of 'x' equals dim 0 of 'w'");
 * left and right are the two values that broke it. */
typedef struct kiln_module_fault {
  uint32_t constraint;
  uint32_t reserved;
  int64_t left;
  int64_t right;
} kiln_module_fault;

/* What generated functions return. */
enum {
  KILN_MODULE_OK = 0,
  KILN_MODULE_CONSTRAINT = 1,    /* fault is filled */
  KILN_MODULE_OUT_OF_MEMORY = 2, /* a service returned NULL */
};

struct kiln_module_frame;

/* A kernel: computes the units [begin, end) of `args`. `args` is a block of
 * 8-byte slots (pointers and int64 values) that outlives the launch.
 * `scratch` has the bytes that sizes() asked for, KILN_MODULE_ALIGNMENT
 * aligned, private to the calling thread, contents undefined. */
typedef void (*kiln_module_kernel_fn)(const void *args, int64_t begin, int64_t end, void *scratch);

/* What the runtime offers to run(). All are called on the thread that called
 * run(), never from a kernel. */
typedef struct kiln_module_services {
  /* Runs fn over [0, extent) cut into `chunks` (1..KILN_MODULE_MAX_CHUNKS)
   * balanced pieces: piece c is [extent*c/chunks, extent*(c+1)/chunks).
   * Returns when all are done. `index` is the launch's row in
   * kiln_module::launches. extent may be 0 (nothing runs). In a device's plan fn
   * is NULL, `chunks` is the index into kiln_module_device::kernels, and args has
   * more slots: the bytes of scratch memory that a thread needs and, for each of
   * the kernel's `num_grids`, the blocks along x, y and z. */
  void (*launch)(struct kiln_module_frame *frame, uint32_t index, kiln_module_kernel_fn fn,
                 const void *args, int64_t extent, uint32_t chunks);
  /* Memory whose size only the run knows; KILN_MODULE_ALIGNMENT aligned; NULL
   * when there is none. Whatever run() does not give back is freed after it. */
  void *(*allocate)(struct kiln_module_frame *frame, uint64_t bytes);
  void (*release)(struct kiln_module_frame *frame, void *memory);
  /* Memory for output `index`, once its dims (its rank many) are known. */
  void *(*late_output)(struct kiln_module_frame *frame, uint32_t index, const int64_t *dims);
  /* What release_since() needs to know of the present. */
  void *(*mark)(struct kiln_module_frame *frame);
  /* Releases what allocate() has given since `mark` was taken, but for blocks
   * that are among the `count` pointers of `kept` (other pointers may be among
   * them). Blocks of before the mark must not have been released meanwhile. */
  void (*release_since)(struct kiln_module_frame *frame, void *mark, void *const *kept,
                        uint32_t count);
  /* Since 1.2, for plans of devices, whose buffers the host cannot read. A copy
   * of what the launches before leave there, valid until the next call; NULL when
   * the device fails. */
  const void *(*fetch)(struct kiln_module_frame *frame, const void *memory, uint64_t bytes);
  /* Between two buffers, after the launches before. */
  void (*copy)(struct kiln_module_frame *frame, void *to, const void *from, uint64_t bytes);
} kiln_module_services;

/* One run's view of the world. Fields up to `services` are read by generated
 * code at fixed offsets. */
typedef struct kiln_module_frame {
  const void *const *inputs; /* dense, row-major, num_inputs of them */
  void *const *outputs;      /* dense, row-major; NULL where LATE */
  int64_t *symbols;          /* num_symbols of them */
  uint8_t *arena;
  const uint64_t *offsets; /* of each buffer in the arena, bytes */
  const uint8_t *weights;
  const kiln_module_services *services;
  void *scratch; /* the calling thread's, for kernels that are called inline */
  kiln_module_fault fault;
} kiln_module_frame;

/* A kernel of a device: `name` in every image. Its arguments take eight bytes
 * each: the launch's `slots`, the extent and, with `uses_scratch`, the scratch
 * memory and the bytes of it that a thread has. */
typedef struct kiln_module_device_kernel {
  const char *name;
  uint32_t slots;
  uint32_t num_grids;
} kiln_module_device_kernel;

enum {
  KILN_MODULE_IMAGE_CUBIN = 0,
  KILN_MODULE_IMAGE_PTX = 1,
  KILN_MODULE_IMAGE_SIM = 2, /* a shared object for the simulator */
};

/* A kernel, compiled for one architecture ("sm_80", "sim"), with the
 * configuration that was chosen for it. Where `grid` is 0, blocks have one
 * dimension, and any number of them computes the whole extent, `units_per_block`
 * of it at a time; else the launch's grid number `grid`, counted from 1, says how
 * many blocks there are. */
typedef struct kiln_module_image {
  const char *arch;
  const void *bytes; /* aligned to 16 */
  uint64_t size;
  uint32_t kind;   /* KILN_MODULE_IMAGE_* */
  uint32_t kernel; /* index into kiln_module_device::kernels */
  uint32_t threads;
  uint32_t units_per_block;
  uint32_t shared_bytes; /* dynamic shared memory */
  uint32_t uses_scratch;
  uint32_t grid;
  uint32_t reserved; /* 0 */
} kiln_module_image;

struct kiln_module;

/* The other plan of the same model, for a device. */
typedef struct kiln_module_device {
  /* Inputs, outputs and input symbols are those of the CPU's plan. Its weights
   * are a prefix of the section. */
  const struct kiln_module *plan;
  const kiln_module_device_kernel *kernels;
  const kiln_module_image *images;
  uint32_t num_kernels;
  uint32_t num_images;
  /* The runtime's driver for it (kiln::rt::DeviceDriver). */
  const void *driver;
} kiln_module_device;

typedef struct kiln_module {
  uint32_t magic;       /* KILN_MODULE_MAGIC */
  uint16_t abi_major;   /* another major: refuse before reading on */
  uint16_t abi_minor;   /* a larger minor only appends fields */
  uint32_t struct_size; /* sizeof(kiln_module) of the writer */
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t num_symbols;
  uint32_t num_input_symbols;
  uint32_t num_bound_symbols; /* known after bind(); the rest are late */
  uint32_t num_buffers;
  uint32_t num_launches;
  uint32_t num_weights;
  uint32_t num_constraints;
  const char *name;         /* of the model */
  const char *producer;     /* "kiln 0.1.0" */
  const char *target;       /* "cpu x86-64-v3" */
  const char *features;     /* comma separated names of instruction sets that the
                             * code uses, as /proc/cpuinfo spells them */
  const char *batch_symbol; /* --batch-dim, or NULL */
  uint8_t digest[32];       /* of model, options and tool */
  const kiln_module_tensor *inputs;
  const kiln_module_tensor *outputs;
  const kiln_module_symbol *symbols;
  const kiln_module_buffer *buffers;
  const kiln_module_launch *launches;
  const kiln_module_weight *weight_table;
  const char *const *constraints;
  const uint8_t *weights; /* start of the mapped section */
  uint64_t weights_size;
  /* Computes the symbols after the input ones, and checks the constraints
   * that they decide. `inputs` is NULL when the caller only asks for shapes;
   * then a module with reads_inputs set cannot bind. */
  int32_t (*bind)(int64_t *symbols, const void *const *inputs, kiln_module_fault *fault);
  /* sizes[b]: bytes of arena buffer b; sizes[num_buffers]: scratch bytes a
   * thread. Needs the symbols that bind() computed. */
  void (*sizes)(const int64_t *symbols, uint64_t *sizes);
  /* Dims of all outputs, one after the other; -1 where LATE. */
  void (*output_dims)(const int64_t *symbols, int64_t *dims);
  int32_t (*run)(kiln_module_frame *frame);
  uint32_t reads_inputs; /* bind() reads elements of inputs (a shape tensor) */
  uint32_t reserved;
  /* Since 1.1. Of each input, then each output: the axis along which each row of
   * the batch has one piece, all of one length; -1 when it is the same for all
   * rows. NULL when there is no batch symbol, or rows do not stay apart. */
  const int32_t *batch_axes;
  const char *batch_obstacle; /* why they do not, or NULL */
  /* Since 1.2. NULL: the artefact runs on the CPU only. */
  const kiln_module_device *device;
  /* Since 1.2. The manifest, a JSON text with a zero byte behind it that
   * manifest_size does not count. NULL: none. */
  const char *manifest;
  uint64_t manifest_size;
  /* For reports, since 1.2. Of each launch its step, ascending; of each buffer the
   * launch that first writes it, num_launches when it is copied to. May be NULL. */
  const uint32_t *launch_steps;
  const uint32_t *buffer_writers;
} kiln_module;

/* The symbol under which the emitter defines the table; hidden, so that the
 * artefact does not export it. */
extern const kiln_module kiln_generated_module;

#ifdef __cplusplus
static_assert(sizeof(kiln_module_dim) == 24, "ABI");
static_assert(sizeof(kiln_module_tensor) == 40, "ABI");
static_assert(sizeof(kiln_module_fault) == 24, "ABI");
static_assert(sizeof(kiln_module_image) == 56, "ABI");
static_assert(offsetof(kiln_module_frame, scratch) == 56, "ABI");
static_assert(offsetof(kiln_module, name) == 48, "ABI");
static_assert(offsetof(kiln_module, inputs) == 120, "ABI");
static_assert(offsetof(kiln_module, bind) == 192, "ABI");
} /* extern "C" */
#else
_Static_assert(sizeof(kiln_module_dim) == 24, "ABI");
_Static_assert(sizeof(kiln_module_tensor) == 40, "ABI");
_Static_assert(sizeof(kiln_module_fault) == 24, "ABI");
_Static_assert(sizeof(kiln_module_image) == 56, "ABI");
_Static_assert(offsetof(kiln_module_frame, scratch) == 56, "ABI");
_Static_assert(offsetof(kiln_module, name) == 48, "ABI");
_Static_assert(offsetof(kiln_module, inputs) == 120, "ABI");
_Static_assert(offsetof(kiln_module, bind) == 192, "ABI");
#endif

#endif /* KILN_C_MODULEABI_H */
