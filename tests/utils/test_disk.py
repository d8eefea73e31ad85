"""Files are written whole or not at all."""

from __future__ import annotations

import os
import re
import stat

import pytest

import skgoss
from helpers.model_files_alike import boosters


def test_places_that_cannot_be_written(tmp_path):
    booster = boosters()[0]
    with pytest.raises(FileNotFoundError, match=r"no such folder.*none"):
        booster.save_model(tmp_path / "none" / "m.txt")
    with pytest.raises(skgoss.basic.LightGBMError, match="no such folder"):
        booster.save_model(tmp_path / "none" / "m.txt")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        booster.save_model(tmp_path)
    assert os.listdir(tmp_path) == []
    booster.save_model(os.devnull)
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_writing_that_fails_leaves_the_earlier_file(step, tmp_path, monkeypatch):
    path, (one, two, *_) = tmp_path / "m.txt", boosters()
    one.save_model(path)
    before = path.read_bytes()

    def fail(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(KeyboardInterrupt):
            two.save_model(path)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["m.txt"])
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    two.save_model(tmp_path / "link")
    assert path.read_text() == two.model_to_string()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (tmp_path / "link").is_symlink()
