func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.elu %x {alpha = 1003.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
