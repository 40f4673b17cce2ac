/*===- Calls.c - The inline calls, for those who cannot inline ------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* libkiln.so exports every kiln_* call of the headers, for languages that    *|
|* reach C through a foreign-function interface.                              *|
\*===----------------------------------------------------------------------===*/
#define KILN_INLINE __attribute__((visibility("default")))
#include "kiln-c/Batcher.h"
#include "kiln-c/Runtime.h"
