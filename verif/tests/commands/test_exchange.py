"""The share of a run that is done, in its file."""

import json

from bitpath.verif.kit.exchange import EVERY_SECONDS, write_share


def test_the_last_share_is_written_however_soon_it_comes(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    path, shown = tmp_path / "share.json", []
    for share, later in ((0.25, 0.0), (0.5, EVERY_SECONDS / 2), (0.75, EVERY_SECONDS), (1.0, 0.0), (1.5, 0.0)):
        now += later
        write_share(path, share)
        shown.append(json.loads(path.read_text()))
    assert shown == [0.25, 0.25, 0.75, 1.0, 1.0]
