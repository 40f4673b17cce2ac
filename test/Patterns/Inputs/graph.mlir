func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.sub %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.sin %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = kiln.cos %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = kiln.tan %2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = kiln.abs %3 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = kiln.exp %4 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = kiln.log %5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}
