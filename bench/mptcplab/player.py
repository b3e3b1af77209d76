# SPDX-License-Identifier: GPL-2.0
"""A DASH player: chunks of a few seconds each, at a bit rate that the buffer chooses.

The choice is BBA-0 of Huang et al., "A buffer-based approach to rate adaptation" (SIGCOMM 2014),
which is what the ECF paper's client used: a linear map from the buffer's level to the bit rates,
and no change while the map stays between the neighbours of the present rate. That paper's buffer
held four minutes, which is too long for phones; the default here holds 30 s, as ExoPlayer's does.

The player knows no network and no clock of its own, so that its logic can be tried by hand.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Abr:
    rates: tuple  # Mbit/s, rising
    reservoir: float = 8  # seconds of buffer up to which the lowest rate is taken
    cushion: float = 12  # seconds above it, at whose end the highest is

    def wanted(self, buffer):
        """The map: Mbit/s for a level of the buffer."""
        low, high = self.rates[0], self.rates[-1]
        part = (buffer - self.reservoir) / self.cushion
        return low + min(1, max(0, part)) * (high - low)

    def choose(self, buffer, last):
        """Index of the next chunk's rate; `last`: of the one before, None at the start."""
        top = len(self.rates) - 1
        if last is None or buffer <= self.reservoir:
            return 0
        if buffer >= self.reservoir + self.cushion:
            return top
        want = self.wanted(buffer)
        if last < top and want >= self.rates[last + 1]:
            return max(i for i, r in enumerate(self.rates) if r <= want)
        if last > 0 and want <= self.rates[last - 1]:
            return min(i for i, r in enumerate(self.rates) if r >= want)
        return last


@dataclasses.dataclass
class Chunk:
    index: int
    rate: int  # index
    begun: float
    seconds: float
    buffer: float  # when it was asked for
    waited: float  # before it, because the buffer was full
    stalled: float  # while it came, because the buffer was empty


def play(fetch, abr, chunks, chunk_s, max_buffer, start_s, clock, sleep):
    """Plays; a list of Chunk. fetch(rate index) returns when the chunk is there.

    Playback begins, and begins again after a stall, with start_s seconds in the buffer.
    """
    done, buffer, last, playing = [], 0.0, None, False
    for index in range(chunks):
        waited = 0.0
        if playing and buffer > max_buffer - chunk_s:
            waited = buffer - (max_buffer - chunk_s)
            asleep = clock()
            sleep(waited)
            buffer -= clock() - asleep
        rate = abr.choose(buffer, last)
        begun, level = clock(), buffer
        fetch(rate)
        seconds = clock() - begun
        stalled = 0.0
        if playing:
            stalled = max(0.0, seconds - buffer)
            buffer = max(0.0, buffer - seconds)
            playing = stalled == 0
        buffer += chunk_s
        playing = playing or buffer >= start_s
        done.append(Chunk(index, rate, begun, seconds, level, waited, stalled))
        last = rate
    return done
