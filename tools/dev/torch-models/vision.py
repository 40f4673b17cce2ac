# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Image models of timm and transformers, small ones, without pretrained weights."""
import torch

from export import Export


def timm_model(name, size, dynamic=False, **options):
    """A classifier with a dynamic batch; one of convolutions alone takes any height and width too."""
    import timm

    module = timm.create_model(name, pretrained=False, num_classes=100, **options)
    dims = {0: "batch", **({2: "height", 3: "width"} if dynamic else {})}
    return Export(module, {"x": torch.randn(2, 3, size, size)}, {"x": dims})


def segformer():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 48, 64], num_labels=19, decoder_hidden_size=64
    )
    return Export(SegformerForSemanticSegmentation(config), {"pixel_values": torch.randn(2, 3, 64, 64)}, {"pixel_values": {0: "batch"}}, ("logits",))


def yolos():
    from transformers import YolosConfig, YolosForObjectDetection

    config = YolosConfig(
        hidden_size=48, num_hidden_layers=2, num_attention_heads=3, intermediate_size=96,
        image_size=[64, 96], patch_size=16, num_detection_tokens=10,
    )
    return Export(YolosForObjectDetection(config), {"pixel_values": torch.randn(2, 3, 64, 96)}, {"pixel_values": {0: "batch"}}, ("logits", "pred_boxes",))


def depth_anything():
    """A transformer whose tokens become a picture again: ConvTranspose, Resize with fixed corners."""
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config

    backbone = Dinov2Config(
        hidden_size=48, num_hidden_layers=4, num_attention_heads=3, image_size=56, patch_size=14,
        out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False, apply_layernorm=True,
    )
    config = DepthAnythingConfig(
        backbone_config=backbone, reassemble_hidden_size=48, neck_hidden_sizes=[8, 16, 24, 32], fusion_hidden_size=16,
        head_hidden_size=8,
    )
    inputs = {"pixel_values": torch.randn(2, 3, 56, 56)}
    return Export(DepthAnythingForDepthEstimation(config), inputs, {"pixel_values": {0: "batch"}}, ("predicted_depth",))


def swin2sr():
    from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution

    config = Swin2SRConfig(image_size=32, embed_dim=24, depths=[2, 2], num_heads=[2, 2])
    inputs = {"pixel_values": torch.rand(2, 3, 32, 32)}
    return Export(Swin2SRForImageSuperResolution(config), inputs, {"pixel_values": {0: "batch"}}, ("reconstruction",))


MODELS = {
    "convnext-atto": lambda: timm_model("convnext_atto", 64, dynamic=True),
    "efficientnet-b0": lambda: timm_model("efficientnet_b0", 64, dynamic=True),
    "mobilenetv3-small": lambda: timm_model("mobilenetv3_small_050", 64, dynamic=True),
    "mobileone-s0": lambda: timm_model("mobileone_s0", 64, dynamic=True),
    "regnety-002": lambda: timm_model("regnety_002", 64, dynamic=True),
    "resnext": lambda: timm_model("resnext50_32x4d", 64, dynamic=True, layers=(1, 1, 1, 1)),
    "densenet": lambda: timm_model("densenet121", 64, dynamic=True, block_config=(2, 2, 2, 2)),
    "vit-tiny": lambda: timm_model("vit_tiny_patch16_224", 64, img_size=64, depth=3),
    "deit-tiny": lambda: timm_model("deit_tiny_distilled_patch16_224", 64, img_size=64, depth=3),
    "swin-tiny": lambda: timm_model(
        "swin_tiny_patch4_window7_224", 112, img_size=112, embed_dim=24, depths=(2, 2, 2, 2), num_heads=(1, 2, 3, 4)
    ),
    "mobilevit": lambda: timm_model("mobilevit_xxs", 64),
    "coatnet": lambda: timm_model("coatnet_nano_rw_224", 64, img_size=64),
    "segformer": segformer,
    "yolos": yolos,
    "depth-anything": depth_anything,
    "swin2sr": swin2sr,
    "tf-efficientnetv2-b0": lambda: timm_model("tf_efficientnetv2_b0", 64, dynamic=True),
    "resnest14d": lambda: timm_model("resnest14d", 64, dynamic=True),
    "hrnet-w18-small": lambda: timm_model("hrnet_w18_small", 64),
    "xcit-nano": lambda: timm_model("xcit_nano_12_p16_224", 64, img_size=64, depth=2),
    "eva02-tiny": lambda: timm_model("eva02_tiny_patch14_224", 56, img_size=56, depth=2),
    "mixer": lambda: timm_model("mixer_s32_224", 64, img_size=64, num_blocks=2),
    "pvt-v2-b0": lambda: timm_model("pvt_v2_b0", 64),
    "efficientvit-b0": lambda: timm_model("efficientvit_b0", 64),
}
