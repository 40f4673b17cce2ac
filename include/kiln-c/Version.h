/*===- kiln-c/Version.h - Version of the C interface ----------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* A version is major << 16 | minor. A new minor only appends: fields at the  *|
|* end of structs that begin with struct_size, functions at the end of a      *|
|* table, status codes. A new major may change anything, and kiln_model_query *|
|* then returns NULL to a caller of the other major.                          *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_VERSION_H
#define KILN_C_VERSION_H

#define KILN_ABI_MAJOR 1u
#define KILN_ABI_MINOR 2u
#define KILN_ABI_VERSION (KILN_ABI_MAJOR << 16 | KILN_ABI_MINOR)

#endif /* KILN_C_VERSION_H */
