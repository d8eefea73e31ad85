"""What TabArena shows of the method."""

from __future__ import annotations

from hpo import gen_skgoss
from model import SkgossModel
from tabarena.models._model_info import ModelInfo
from tabarena.nips2025_utils.artifacts.method_metadata import MethodMetadata

skgoss_info = ModelInfo(
    model_cls=SkgossModel,
    search_space=gen_skgoss,
    method_metadata=MethodMetadata(
        method="Skgoss",
        method_type="config",
        display_name="skgoss",
        compute="cpu",
        ag_key=SkgossModel.ag_key,
        config_default="Skgoss_c1_BAG_L1",
        can_hpo=True,
        is_bag=True,
        verified=True,  # by the authors of the method
    ),
    pip_extra=("skgoss",),
)
