"""What TiCDC's consumer makes of a storage folder, in whatever order rows and statements came."""

import contextlib
import random
from collections.abc import Callable

import pytest

from spark_jobs import failpoints
from tests.pipeline.messages import COLUMNS, ddl, row, ts
from tests.sinks.storage_consumer import Replay
from tests.sinks.storage_scene import Scene
from tests.sinks.test_storage_publishing import between_operations


def upstream(chance: random.Random, statements: int) -> list[tuple[int, bytes]]:
    """Rows and statements of one table in the order of their commit-ts."""
    columns = dict(COLUMNS)
    clock, found = (
        100,
        [(100, ddl("orders", "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(9))", ts(100)))],
    )
    for n in range(statements):
        for _ in range(chance.randrange(5)):
            clock += chance.randrange(1, 4)
            gone = chance.random() < 0.2
            values = dict.fromkeys(["id"] if gone else columns, str(clock))
            kind = "DELETE" if gone else "INSERT"
            found.append((clock, row("orders", values, ts(clock), kind=kind, columns=columns)))
        clock += chance.randrange(1, 4)
        if len(columns) > 2 and chance.random() < 0.4:
            dropped = next(reversed(columns))
            columns = {name: type_ for name, type_ in columns.items() if name != dropped}
            query = f"ALTER TABLE `orders` DROP COLUMN `{dropped}`"
        elif chance.random() < 0.2:
            query = "ALTER TABLE `orders` COMMENT = 'x'"
        else:
            columns = {**columns, f"c{n}": ("int", 4)}
            query = f"ALTER TABLE `orders` ADD COLUMN `c{n}` INT"
        found.append((clock, ddl("orders", query, ts(clock))))
    return found


def in_partitions(chance: random.Random, events: list[tuple[int, bytes]]) -> list[bytes]:
    """Statements come from partition 0, rows from any; each partition is in order, and one may lag behind another."""
    partitions: list[list[bytes]] = [[], [], []]
    for _, message in events:
        partitions[0 if b'"isDdl":true' in message else chance.randrange(3)].append(message)
    merged: list[bytes] = []
    while any(partitions):
        partition = chance.choice([one for one in partitions if one])
        merged.append(partition.pop(0))
    return merged


def batches(chance: random.Random, messages: list[bytes]) -> list[list[bytes]]:
    """Cut anywhere."""
    found: list[list[bytes]] = [[]]
    for message in messages:
        found[-1].append(message)
        if chance.random() < 0.25:
            found.append([])
    return [batch for batch in found if batch]


def _looking(replay: Replay, dies_at: int) -> Callable[[str], None]:
    """Looks at each named step, and fails at one of them."""
    steps = iter(range(1_000_000))

    def reached(step: str) -> None:
        replay.look()
        if next(steps) == dies_at:
            raise failpoints.InjectedFault(step)

    return reached


@pytest.mark.parametrize("seed", range(30))
def test_a_consumer_that_looks_at_any_time_drops_no_row_and_passes_over_no_statement(tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    events = upstream(chance, 6)
    scene, ordered = Scene(tmp_path), seed % 2 == 0
    messages = [message for _, message in events] if ordered else in_partitions(chance, events)
    replay = Replay(scene.root)
    for batch in batches(chance, messages):
        scene.commit(*batch)
        with monkeypatch.context() as patch:
            if seed < 4:
                between_operations(patch, replay.look)
            else:
                patch.setattr(failpoints, "reached", _looking(replay, chance.randrange(12) if seed % 3 else -1))
            with contextlib.suppress(failpoints.InjectedFault):
                scene.publish()
        replay.look()
        if seed % 3:
            scene.owner()
            replay.look()
    rows = [b'"isDdl":true' not in message for message in messages].count(True)
    assert replay.faults == []
    assert len(replay.rows.get("shop/orders", [])) == rows
    assert len(scene.keys(ordered=ordered)) == rows
    assert len(replay.statements["shop/orders"]) == len(messages) - rows - scene.log.repeated
    if ordered:
        ids = [int(one["id"]) for one in replay.rows["shop/orders"]]
        assert ids == sorted(ids)
        assert scene.log.repeated == 0
