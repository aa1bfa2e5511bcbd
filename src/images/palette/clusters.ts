/** Weighted points in OKLab. */
export interface Points {
  size: number;
  /** Lightness, a and b of each point. */
  places: Float64Array;
  /** Weights. Points of weight 0 get a label, but do not move centres. */
  weight: Float64Array;
}

export interface Clusters {
  count: number;
  /** Lightness, a and b of each cluster's centre. */
  centres: Float64Array;
  /** The nearest cluster of each point; the lower number wins a tie. */
  labels: Uint8Array;
}

/** The weight of each cluster's points. */
export function clusterWeights(points: Points, clusters: Clusters): Float64Array {
  const weights = new Float64Array(clusters.count);
  for (let point = 0; point < points.size; point += 1) {
    weights[clusters.labels[point]!]! += points.weight[point]!;
  }
  return weights;
}

/** Labels each point with its nearest centre; returns the weighted sum of the distances. */
export function assign({ size, places, weight }: Points, clusters: Clusters): number {
  const { count, centres, labels } = clusters;
  let sum = 0;
  for (let point = 0; point < size; point += 1) {
    const lightness = places[point * 3]!;
    const a = places[point * 3 + 1]!;
    const b = places[point * 3 + 2]!;
    let nearest = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let cluster = 0, at = 0; cluster < count; cluster += 1, at += 3) {
      const x = centres[at]! - lightness;
      const y = centres[at + 1]! - a;
      const z = centres[at + 2]! - b;
      const square = x * x + y * y + z * z;
      if (square < least) {
        least = square;
        nearest = cluster;
      }
    }
    labels[point] = nearest;
    sum += weight[point]! * Math.sqrt(least);
  }
  return sum;
}

/** Smallest distance, which avoids an infinite weight; a third of one 8-bit level. */
const SOFTENING = 1e-3;

/**
 * Moves centres to the weighted means of their points; a cluster without points keeps its centre.
 *
 * @param to `medians` is one step of Weiszfeld's iteration towards the geometric median: a mean in which each point pulls
 *   by its weight over its distance. (E. Weiszfeld, "Sur le point pour lequel la somme des distances de n points donnés
 *   est minimum", 1937.)
 */
export function move(points: Points, clusters: Clusters, to: 'means' | 'medians'): void {
  const { size, places, weight } = points;
  const { count, centres, labels } = clusters;
  const sums = new Float64Array(count * 4);
  for (let point = 0; point < size; point += 1) {
    const cluster = labels[point]!;
    const x = places[point * 3]!;
    const y = places[point * 3 + 1]!;
    const z = places[point * 3 + 2]!;
    let pull = weight[point]!;
    if (to === 'medians') {
      const square =
        (centres[cluster * 3]! - x) ** 2 +
        (centres[cluster * 3 + 1]! - y) ** 2 +
        (centres[cluster * 3 + 2]! - z) ** 2;
      pull /= Math.sqrt(square + SOFTENING * SOFTENING);
    }
    sums[cluster * 4]! += pull * x;
    sums[cluster * 4 + 1]! += pull * y;
    sums[cluster * 4 + 2]! += pull * z;
    sums[cluster * 4 + 3]! += pull;
  }
  for (let cluster = 0; cluster < count; cluster += 1) {
    const pull = sums[cluster * 4 + 3]!;
    if (pull === 0) continue;
    for (let axis = 0; axis < 3; axis += 1) {
      centres[cluster * 3 + axis] = sums[cluster * 4 + axis]! / pull;
    }
  }
}

/** Slices across a cluster's longest axis, among which the best split is searched. */
const SLICES = 64;
/** Standard deviations that the slices cover in both directions; the outermost include all beyond. */
const REACH = 3;
/** Smallest gain above rounding errors: one pixel that differs by one 8-bit level gains about 1e-6. */
const MIN_GAIN = 1e-10;

/**
 * Splits the cluster whose split across its longest axis lowers the variance within clusters most.
 * Returns false if no split gains; then only the centres have moved to their means.
 */
export function split(points: Points, clusters: Clusters): boolean {
  move(points, clusters, 'means');
  const axes = longestAxes(points, clusters);
  const slices = slicePoints(points, clusters, axes);
  let best = { cluster: -1, slice: -1, gain: MIN_GAIN };
  for (let cluster = 0; cluster < clusters.count; cluster += 1) {
    const { slice, gain } = bestSlice(slices, cluster);
    if (gain > best.gain) best = { cluster, slice, gain };
  }
  if (best.cluster < 0) return false;
  relabel(clusters, slices, best);
  clusters.count += 1;
  move(points, clusters, 'means');
  return true;
}

/** Gives the points above a slice of a cluster to a new one. */
function relabel({ labels, count }: Clusters, { ofPoint }: Slices, best: Split): void {
  for (let point = 0; point < labels.length; point += 1) {
    if (labels[point] === best.cluster && ofPoint[point]! > best.slice) labels[point] = count;
  }
}

/** A unit vector for each cluster and the standard deviation along it. Centres must be means. */
function longestAxes(points: Points, clusters: Clusters): Float64Array {
  const moments = momentsOf(points, clusters);
  const axes = new Float64Array(clusters.count * 4);
  for (let cluster = 0; cluster < clusters.count; cluster += 1) {
    axes.set(longestAxis(moments.subarray(cluster * 7, cluster * 7 + 7)), cluster * 4);
  }
  return axes;
}

/** Six second moments of each cluster's points, and their weight. */
function momentsOf({ size, places, weight }: Points, { centres, labels, count }: Clusters) {
  const moments = new Float64Array(count * 7);
  for (let point = 0; point < size; point += 1) {
    const pull = weight[point]!;
    const cluster = labels[point]!;
    const x = places[point * 3]! - centres[cluster * 3]!;
    const y = places[point * 3 + 1]! - centres[cluster * 3 + 1]!;
    const z = places[point * 3 + 2]! - centres[cluster * 3 + 2]!;
    const at = cluster * 7;
    moments[at]! += pull * x * x;
    moments[at + 1]! += pull * x * y;
    moments[at + 2]! += pull * x * z;
    moments[at + 3]! += pull * y * y;
    moments[at + 4]! += pull * y * z;
    moments[at + 5]! += pull * z * z;
    moments[at + 6]! += pull;
  }
  return moments;
}

/** The first principal axis, by power iteration, from the six second moments and their weight. */
function longestAxis(moments: Float64Array): readonly number[] {
  const [xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0, weight = 0] = moments;
  // The column of the widest coordinate is never perpendicular to the longest axis.
  let [x, y, z] = xx >= yy && xx >= zz ? [xx, xy, xz] : yy >= zz ? [xy, yy, yz] : [xz, yz, zz];
  let length = Math.hypot(x, y, z);
  for (let round = 0; round < 12 && length > 0; round += 1) {
    const across = x / length;
    const along = y / length;
    const through = z / length;
    x = xx * across + xy * along + xz * through;
    y = xy * across + yy * along + yz * through;
    z = xz * across + yz * along + zz * through;
    length = Math.hypot(x, y, z);
  }
  if (length === 0 || weight === 0) return [0, 0, 0, 0];
  return [x / length, y / length, z / length, Math.sqrt(length / weight)];
}

type Split = Record<'cluster' | 'slice', number>;
type Slices = ReturnType<typeof slicePoints>;

function slicePoints(points: Points, clusters: Clusters, axes: Float64Array) {
  const { places, weight } = points;
  const { centres, labels, count } = clusters;
  const slices = {
    /** The slice of each point, along the axis of its cluster. */
    ofPoint: new Uint8Array(points.size),
    /** Weight, and weight times position on the axis, of each slice of each cluster. */
    weight: new Float64Array(count * SLICES),
    place: new Float64Array(count * SLICES),
  };
  for (let point = 0; point < points.size; point += 1) {
    const cluster = labels[point]!;
    const deviation = axes[cluster * 4 + 3]!;
    if (deviation === 0) continue;
    const place =
      (places[point * 3]! - centres[cluster * 3]!) * axes[cluster * 4]! +
      (places[point * 3 + 1]! - centres[cluster * 3 + 1]!) * axes[cluster * 4 + 1]! +
      (places[point * 3 + 2]! - centres[cluster * 3 + 2]!) * axes[cluster * 4 + 2]!;
    const slice = Math.floor((place / (2 * REACH * deviation) + 0.5) * SLICES);
    const inside = Math.min(Math.max(slice, 0), SLICES - 1);
    slices.ofPoint[point] = inside;
    const at = cluster * SLICES + inside;
    slices.weight[at]! += weight[point]!;
    slices.place[at]! += weight[point]! * place;
  }
  return slices;
}

/** The slice after which to split, by the greatest variance between both sides (Otsu's criterion). */
function bestSlice(slices: Slices, cluster: number): { slice: number; gain: number } {
  const start = cluster * SLICES;
  let weight = 0;
  let place = 0;
  for (let slice = 0; slice < SLICES; slice += 1) {
    weight += slices.weight[start + slice]!;
    place += slices.place[start + slice]!;
  }
  let best = { slice: -1, gain: 0 };
  let lowerWeight = 0;
  let lowerPlace = 0;
  for (let slice = 0; slice < SLICES - 1; slice += 1) {
    lowerWeight += slices.weight[start + slice]!;
    lowerPlace += slices.place[start + slice]!;
    const upperWeight = weight - lowerWeight;
    if (lowerWeight === 0 || upperWeight <= 0) continue;
    const apart = lowerPlace / lowerWeight - (place - lowerPlace) / upperWeight;
    const gain = ((lowerWeight * upperWeight) / weight) * apart * apart;
    if (gain > best.gain) best = { slice, gain };
  }
  return best;
}
