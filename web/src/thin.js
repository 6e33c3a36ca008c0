// Curves of any length, and the few points of them that a screen can show.

const GROUP = 4; // blocks of one level that a block of the next one covers

/** Gives the first place whose value is at least `value`; values rise. */
function firstAtLeast(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A curve that knows where each block of its points is lowest and highest. */
export class Curve {
  constructor({ x, y }) {
    this.x = Float64Array.from(x);
    this.y = Float64Array.from(y, (value) => (value === null ? NaN : value));
    const self = Uint32Array.from(this.y, (_, i) => i);
    this.levels = [{ low: self, high: self }];
    while (this.levels.at(-1).low.length > GROUP) this.levels.push(this.nextLevel(this.levels.at(-1)));
  }

  nextLevel({ low, high }) {
    const count = Math.ceil(low.length / GROUP);
    const next = { low: new Uint32Array(count), high: new Uint32Array(count) };
    for (let block = 0; block < count; ++block) {
      let lowest = low[block * GROUP], highest = high[block * GROUP];
      const end = Math.min(low.length, (block + 1) * GROUP);
      for (let i = block * GROUP; i < end; ++i) {
        // A comparison with NaN is false, so that a gap gives way to any number.
        if (!(this.y[lowest] <= this.y[low[i]])) lowest = low[i];
        if (!(this.y[highest] >= this.y[high[i]])) highest = high[i];
      }
      next.low[block] = lowest;
      next.high[block] = highest;
    }
    return next;
  }

  /** Gives [x, y] of at most about `most` points between two places of the axis, and of one point on either
      side, so that lines reach the edges; the lowest and the highest of each piece are among them. */
  thinned(from, to, most) {
    const begin = Math.max(0, firstAtLeast(this.x, from) - 1);
    const end = Math.min(this.x.length, firstAtLeast(this.x, to) + 2);
    let level = 0, size = 1;
    while (level + 1 < this.levels.length && ((level ? 2 : 1) * (end - begin)) / size > most) {
      ++level;
      size *= GROUP;
    }
    const { low, high } = this.levels[level];
    const xs = [], ys = [];
    const push = (i) => {
      xs.push(this.x[i]);
      ys.push(Number.isNaN(this.y[i]) ? null : this.y[i]);
    };
    for (let block = Math.floor(begin / size); block < Math.ceil(end / size); ++block) {
      const first = Math.min(low[block], high[block]), second = Math.max(low[block], high[block]);
      push(first);
      if (second !== first) push(second);
    }
    return [xs, ys];
  }
}
