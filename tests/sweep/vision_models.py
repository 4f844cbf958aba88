"""The models of torchvision and timm that the sweep knows.

Entries are made with random weights and download nothing. Each family of
torchvision is here but the quantized ones, and one small model of each family
(source file) of timm.
"""

# name -> (what it is for, size of the square image or of a frame, in pixels)
TORCHVISION = {
    "alexnet": ("classification", 224),
    "convnext_tiny": ("classification", 224),
    "densenet121": ("classification", 224),
    "efficientnet_b0": ("classification", 224),
    "efficientnet_v2_s": ("classification", 224),
    "googlenet": ("classification", 224),
    "inception_v3": ("classification", 299),
    "maxvit_t": ("classification", 224),
    "mnasnet0_5": ("classification", 224),
    "mobilenet_v2": ("classification", 224),
    "mobilenet_v3_small": ("classification", 224),
    "regnet_x_400mf": ("classification", 224),
    "regnet_y_400mf": ("classification", 224),
    "resnet18": ("classification", 224),
    "resnet50": ("classification", 224),
    "resnext50_32x4d": ("classification", 224),
    "wide_resnet50_2": ("classification", 224),
    "shufflenet_v2_x0_5": ("classification", 224),
    "squeezenet1_1": ("classification", 224),
    "swin_t": ("classification", 224),
    "swin_v2_t": ("classification", 256),
    "vgg11": ("classification", 224),
    "vgg11_bn": ("classification", 224),
    "vit_b_32": ("classification", 224),
    "deeplabv3_mobilenet_v3_large": ("segmentation", 224),
    "deeplabv3_resnet50": ("segmentation", 224),
    "fcn_resnet50": ("segmentation", 224),
    "lraspp_mobilenet_v3_large": ("segmentation", 224),
    "fasterrcnn_mobilenet_v3_large_320_fpn": ("detection", 320),
    "fasterrcnn_resnet50_fpn": ("detection", 320),
    "fasterrcnn_resnet50_fpn_v2": ("detection", 320),
    "fcos_resnet50_fpn": ("detection", 320),
    "keypointrcnn_resnet50_fpn": ("detection", 320),
    "maskrcnn_resnet50_fpn": ("detection", 320),
    "retinanet_resnet50_fpn": ("detection", 320),
    "ssd300_vgg16": ("detection", 300),
    "ssdlite320_mobilenet_v3_large": ("detection", 320),
    "mc3_18": ("video", 112),
    "mvit_v1_b": ("video", 224),
    "mvit_v2_s": ("video", 224),
    "r2plus1d_18": ("video", 112),
    "r3d_18": ("video", 112),
    "s3d": ("video", 224),
    "swin3d_t": ("video", 224),
    "raft_small": ("flow", 128),
    "raft_large": ("flow", 128),
}

# Its size of an image is the one that the model was made for.
TIMM = """
beit_base_patch16_224 botnet26t_256 gcresnext26ts cait_xxs24_224 coat_tiny
convit_tiny convmixer_768_32 convnext_atto cpubone_nano crossvit_9_240 csatv2
cs3darknet_s cspnext_tiny davit_tiny deepseek_vit_412m deit_tiny_patch16_224
densenet121 dla46_c dpn48b edgenext_xx_small efficientformer_l1
efficientformerv2_s0 mobilenetv2_050 efficientvim_m1 efficientvit_b0
efficientvit_m0 eva02_tiny_patch14_224 fasternet_t0 fastvit_t8
focalnet_tiny_srf gcvit_xxtiny gemma4_vit_167m ghostnet_050 hardcorenas_a
hgnetv2_b0 hiera_tiny_224 sam2_hiera_tiny hrnet_w18_small iformer_t
inception_next_atto inception_resnet_v2 inception_v3 inception_v4
lcnetv2_small levit_128s lowformer_b0 mambaout_femto coatnet_nano_rw_224
maxvit_nano_rw_256 poolformer_s12 caformer_s18 gmlp_ti16_224 mixer_s32_224
resmlp_12_224 mobilenetv3_small_050 lcnet_035 mobilenetv5_300m mobilevit_xxs
mobilevitv2_050 mvitv2_tiny naflexvit_base_patch16_gap nasnetalarge
nest_tiny nextvit_small nfnet_l0 pit_ti_224 pnasnet5large pvt_v2_b0
qwen3_vit_88m rdnet_tiny regnetx_002 regnety_002 repghostnet_050 repvit_m0_9
res2net50_14w_8s resnest14d resnet10t resnetv2_18 rexnet_100 selecsls42
legacy_seresnet18 sequencer2d_s shvit_s1 skresnet18 starnet_s050
swiftformer_xs swin_tiny_patch4_window7_224 swinv2_tiny_window8_256
swinv2_cr_tiny_224 tiny_vit_5m_224 tnt_s_patch16_224 tresnet_m
twins_pcpvt_small vgg11 visformer_tiny vit_tiny_patch16_224
vit_tiny_r_s16_p8_224 vit_relpos_small_patch16_224 samvit_base_patch16_224
vitamin_small_224 volo_d1_224 ese_vovnet19b_slim_dw legacy_xception
xception41 xcit_nano_12_p16_224
""".split()

# Frames of a clip: what the models of torchvision were trained with, or less.
_FRAMES = {"mvit_v1_b": 16, "mvit_v2_s": 16, "s3d": 16}
_FEW_FRAMES = 8


def make_torchvision(name, batch):
    """Returns (model, inputs) in float32; the batch is axis 0 of each input."""
    import torch
    import torchvision

    from flat_outputs import FlatOutputs

    purpose, size = TORCHVISION[name]
    builder = torchvision.models.get_model_builder(name)
    if purpose == "detection":
        # Detectors take a list of images, which may differ in size.
        return FlatOutputs(
            builder(weights=None, weights_backbone=None),
            lambda model, images: model(list(images.unbind(0))),
        ), (torch.rand(batch, 3, size, size),)
    if purpose == "segmentation":
        model = FlatOutputs(builder(weights=None, weights_backbone=None))
        return model, (torch.randn(batch, 3, size, size),)
    if purpose == "video":
        frames = _FRAMES.get(name, _FEW_FRAMES)
        return builder(weights=None), (torch.randn(batch, 3, frames, size, size),)
    if purpose == "flow":
        images = [torch.rand(batch, 3, size, size) * 2 - 1 for _ in range(2)]
        return FlatOutputs(builder(weights=None)), tuple(images)
    # These two warn without it, and are slow to start with it.
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = FlatOutputs(builder(weights=None, **options))
    return model, (torch.randn(batch, 3, size, size),)


def make_timm(name, batch):
    """Returns (model, inputs) in float32; the batch is axis 0 of the input."""
    import timm
    import torch

    from flat_outputs import FlatOutputs

    model = timm.create_model(name, pretrained=False)
    size = timm.data.resolve_data_config({}, model=model)["input_size"]
    return FlatOutputs(model), (torch.randn(batch, *size),)
