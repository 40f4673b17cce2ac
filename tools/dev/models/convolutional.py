# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Image networks: ResNet-18 and -50, MobileNetV2, a U-Net with four kinds of normalising and growing."""
import numpy as np
from graph import Graph

# The last normalisation of a residual branch: without it the variance doubles in each block.
RESIDUAL_GAMMA = 0.25


def conv_bn(g, x, name, channels_in, channels, kernel, stride=1, group=1, gamma=1.0):
    x = g.conv(x, name, channels_in, channels, kernel, stride, group)
    return g.batch_norm(x, f"{name}.bn", channels, gamma)


def image_input(g, height=224, width=224):
    return g.input("x", "FLOAT", ["batch", 3, height, width])


def classify(g, x, channels):
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.output(g.gemm(x, "fc", channels, 1000), "logits", "FLOAT", ["batch", 1000])
    return g.model()


def resnet(name, opset, blocks, bottleneck):
    g = Graph(name, opset)
    x = g.op("Relu", conv_bn(g, image_input(g), "stem", 3, 64, 7, stride=2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels_in = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        channels = width * (4 if bottleneck else 1)
        for block in range(count):
            at = f"layer{stage + 1}.{block}"
            stride = 2 if stage and not block else 1
            if bottleneck:
                steps = [(width, 1, 1), (width, 3, stride), (channels, 1, 1)]
            else:
                steps = [(width, 3, stride), (channels, 3, 1)]
            y, n = x, channels_in
            for i, (out, kernel, step) in enumerate(steps):
                last = i == len(steps) - 1
                gamma = RESIDUAL_GAMMA if last else 1.0
                y = conv_bn(g, y, f"{at}.conv{i + 1}", n, out, kernel, step, gamma=gamma)
                y, n = (y if last else g.op("Relu", y)), out
            if stride != 1 or channels_in != channels:
                x = conv_bn(g, x, f"{at}.downsample", channels_in, channels, 1, stride)
            x, channels_in = g.op("Relu", g.op("Add", y, x)), channels
    return classify(g, x, channels_in)


def resnet18():
    return resnet("resnet18", 17, [2, 2, 2, 2], bottleneck=False)


def resnet50():
    return resnet("resnet50", 18, [3, 4, 6, 3], bottleneck=True)


def mobilenetv2():
    g = Graph("mobilenetv2", 20)

    def relu6(x):
        return g.op("Clip", x, g.scalar(0.0), g.scalar(6.0))

    x, channels_in = relu6(conv_bn(g, image_input(g), "stem", 3, 32, 3, stride=2)), 32
    settings = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)]
    settings += [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for i, (expand, channels, count, first_stride) in enumerate(settings):
        for j in range(count):
            at, stride = f"block{i}.{j}", first_stride if j == 0 else 1
            hidden = channels_in * expand
            y = x
            if expand != 1:
                y = relu6(conv_bn(g, y, f"{at}.expand", channels_in, hidden, 1))
            y = relu6(conv_bn(g, y, f"{at}.depthwise", hidden, hidden, 3, stride, group=hidden))
            shortcut = stride == 1 and channels_in == channels
            gamma = RESIDUAL_GAMMA if shortcut else 1.0
            y = conv_bn(g, y, f"{at}.project", hidden, channels, 1, gamma=gamma)
            x, channels_in = (g.op("Add", x, y) if shortcut else y), channels
    x = relu6(conv_bn(g, x, "head", channels_in, 1280, 1))
    return classify(g, x, 1280)


def unet():
    """Height and width are multiples of 8. Each way up is another operator."""
    g = Graph("unet", 21)

    def instance(x, at, channels_in, channels):
        x = g.conv(x, at, channels_in, channels, 3, bias=True)
        x = g.op("InstanceNormalization", x, *g.affine(f"{at}.norm", channels), epsilon=1e-5)
        return g.op("LeakyRelu", x, alpha=0.01)

    def group(x, at, channels_in, channels):
        x = g.conv(x, at, channels_in, channels, 3, bias=True)
        scale, shift = g.affine(f"{at}.norm", channels)
        x = g.op("GroupNormalization", x, scale, shift, num_groups=8, epsilon=1e-5)
        return g.op("Mul", x, g.op("Sigmoid", x))

    def transposed(x, at, channels_in, channels, kernel, pad):
        shape = (channels_in, channels, kernel, kernel)
        # With stride 2 a result element takes kernel^2/4 elements of each channel.
        std = (4 / (channels_in * kernel * kernel)) ** 0.5
        inputs = [g.normal(f"{at}.weight", shape, std), g.normal(f"{at}.bias", (channels,), 0.1)]
        pads = {"kernel_shape": [kernel] * 2, "strides": [2, 2], "pads": [pad] * 4}
        return g.op("ConvTranspose", x, *inputs, **pads)

    x, channels_in, skips = image_input(g, "height", "width"), 3, []
    for level, channels in enumerate([16, 32, 64]):
        x = instance(x, f"down{level}.a", channels_in, channels)
        x = instance(x, f"down{level}.b", channels, channels)
        skips.append(x)
        x, channels_in = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), channels
    x = group(group(x, "middle.a", 64, 128), "middle.b", 128, 128)

    x = transposed(x, "up2", 128, 64, kernel=2, pad=0)
    x = group(g.op("Concat", x, skips[2], axis=1), "up2.mix", 128, 64)
    scales = g.constant("scales", np.float32([1, 1, 2, 2]))
    x = g.op("Resize", x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
    x = g.conv(x, "up1", 64, 32, 1, bias=True)
    x = group(g.op("Concat", x, skips[1], axis=1), "up1.mix", 64, 32)
    x = transposed(x, "up0", 32, 16, kernel=4, pad=1)
    x = instance(g.op("Concat", x, skips[0], axis=1), "up0.mix", 32, 16)
    x = g.op("Sigmoid", g.conv(x, "mask", 16, 1, 1, bias=True, gain=1.0))
    g.output(x, "mask", "FLOAT", ["batch", 1, "height", "width"])
    return g.model()
