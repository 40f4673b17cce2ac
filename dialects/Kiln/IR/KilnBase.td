//===- KilnBase.td - The kiln dialect's base ---------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_IR_KILNBASE_TD
#define KILN_DIALECTS_KILN_IR_KILNBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Kiln/IR/KilnInterfaces.td"

def Kiln_Dialect : Dialect {
  let name = "kiln";
  let cppNamespace = "::kiln";
  let summary = "Tensor operators with one meaning each.";
  let description = [{
    Operators on ranked tensors whose dynamic dimensions carry symbolic
    expressions. Sizes are attributes, never operands; every op infers its
    result types. What was left out, and why: dialects/Kiln/README.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// Lets a family register its ops: the dialect never sees their classes,
    /// so touching one family recompiles that family alone.
    template <typename... Ops> void registerOps() {
      addOperations<Ops...>();
      (attributeChecks.try_emplace(
           Ops::getOperationName(),
           [](::mlir::Location loc, ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
              ::mlir::OpaqueProperties properties) {
             return typename Ops::Adaptor(operands, attributes, properties).verify(loc);
           }),
       ...);
    }
    void registerAttrs();

    /// Fails, reported at `loc`, where an op of this name (one of the dialect)
    /// lacks an attribute or has one of another kind: before there is an op, for
    /// inference of its types reads them.
    ::llvm::LogicalResult checkAttributes(::llvm::StringRef opName, ::mlir::Location loc,
                                          ::mlir::ValueRange operands,
                                          ::mlir::DictionaryAttr attributes,
                                          ::mlir::OpaqueProperties properties) const {
      return attributeChecks.lookup(opName)(loc, operands, attributes, properties);
    }

  private:
    ::llvm::StringMap<::llvm::LogicalResult (*)(::mlir::Location, ::mlir::ValueRange,
                                                ::mlir::DictionaryAttr, ::mlir::OpaqueProperties)>
        attributeChecks;
  }];
}

class Kiln_Attr<string name, list<Trait> traits = []> : AttrDef<Kiln_Dialect, name, traits>;

def Kiln_DimsAttr : Kiln_Attr<"Dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "dims";
  let summary = "Expressions of a tensor type's dynamic dimensions, in order.";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$exprs);
  let assemblyFormat = "`<` $exprs `>`";
  let genVerifyDecl = 1;
}

def Kiln_ExprsAttr : Kiln_Attr<"Exprs"> {
  let mnemonic = "exprs";
  let summary = "A list of integers, each an expression over symbols.";
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$exprs);
  let assemblyFormat = "`<` (`>`) : ($exprs^ `>`)?";
  let genVerifyDecl = 1;
}

def Kiln_IntTypes : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64], "integer">;
def Kiln_FloatTypes : AnyTypeOf<[F16, BF16, F32, F64], "floating point">;
/// Stored, moved and converted; nothing else is computed with them.
def Kiln_SmallTypes : AnyTypeOf<[I<2>, UI<2>, I<4>, UI<4>, F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E4M3FN,
                                 F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ], "small">;
def Kiln_AnyTypes : AnyTypeOf<[I1, Kiln_IntTypes, Kiln_FloatTypes, Kiln_SmallTypes], "element">;

def Kiln_Tensor : RankedTensorOf<[Kiln_AnyTypes]>;
def Kiln_FloatTensor : RankedTensorOf<[Kiln_FloatTypes]>;
def Kiln_IntTensor : RankedTensorOf<[Kiln_IntTypes]>;
def Kiln_NumberTensor : RankedTensorOf<[Kiln_IntTypes, Kiln_FloatTypes]>;
def Kiln_BoolTensor : RankedTensorOf<[I1]>;
def Kiln_IndexTensor : RankedTensorOf<[I32, I64]>;

class Kiln_Op<string mnemonic, list<Trait> traits = []> : Op<Kiln_Dialect, mnemonic, traits> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// No side effect, and the result types follow from operands and attributes.
class Kiln_PureOp<string mnemonic, list<Trait> traits = []>
    : Kiln_Op<mnemonic, !listconcat(traits, [Pure, InferTypeOpAdaptor])>;

#endif // KILN_DIALECTS_KILN_IR_KILNBASE_TD
