/** Weighted points in OKLab, one array per coordinate, all of length `size`. */
export interface Points {
  size: number;
  lightness: Float64Array;
  a: Float64Array;
  b: Float64Array;
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

/** Moves every centre to the mean or median of its points. */
type Move = (points: Points, clusters: Clusters) => void;

/** Rounds after each split, which lead to better results than more rounds at the end. */
const ROUNDS_BETWEEN = 3;
const ROUNDS_OF_MEANS = 20;
const ROUNDS_OF_MEDIANS = 20;
/** Relative improvement of a round below which no more follow. */
const MIN_IMPROVEMENT = 1e-4;
/** Smallest distance, which avoids an infinite weight; a third of one 8-bit level. */
const SOFTENING = 1e-3;
/** Slices across a cluster's longest axis, among which the best split is searched. */
const SLICES = 64;
/** Standard deviations that the slices cover in both directions; the outermost include all beyond. */
const REACH = 3;
/** Smallest gain above rounding errors: one pixel that differs by one 8-bit level gains about 1e-6. */
const MIN_GAIN = 1e-10;

/**
 * Finds at most `most` clusters (1 to 255) of the points, deterministically: starts with one, makes the
 * split that lowers the variance most until there are enough, moves the centres to their means (Lloyd's
 * k-means) and finally to their medians, because the mean distance is to be minimal, not the mean square.
 * A median also stays on a colour that dominates its cluster, wherever the rest of the cluster is. Returns
 * fewer clusters if no split is left, and none if no point has weight.
 */
export function clusterPoints(points: Points, most: number): Clusters {
  const clusters: Clusters = {
    count: 0,
    centres: new Float64Array(most * 3),
    labels: new Uint8Array(points.size),
  };
  if (!points.weight.some((weight) => weight > 0)) return clusters;
  clusters.count = 1;
  moveToMeans(points, clusters);
  while (clusters.count < most && split(points, clusters)) {
    iterate(points, clusters, moveToMeans, ROUNDS_BETWEEN);
  }
  iterate(points, clusters, moveToMeans, ROUNDS_OF_MEANS);
  iterate(points, clusters, moveToMedians, ROUNDS_OF_MEDIANS);
  return clusters;
}

/** Removes the cluster of less weight of any two whose centres are nearer than `distance`. */
export function mergeNear(points: Points, clusters: Clusters, distance: number): void {
  for (;;) {
    const weights = clusterWeights(points, clusters);
    const pair = nearestPair(clusters);
    if (pair === null || pair.distance >= distance) return;
    remove(clusters, weights[pair.one]! < weights[pair.other]! ? pair.one : pair.other);
    iterate(points, clusters, moveToMedians, ROUNDS_OF_MEDIANS);
  }
}

function nearestPair(clusters: Clusters): { one: number; other: number; distance: number } | null {
  const { centres, count } = clusters;
  let nearest = null;
  for (let one = 0; one < count; one += 1) {
    for (let other = one + 1; other < count; other += 1) {
      const distance = Math.hypot(
        centres[one * 3]! - centres[other * 3]!,
        centres[one * 3 + 1]! - centres[other * 3 + 1]!,
        centres[one * 3 + 2]! - centres[other * 3 + 2]!,
      );
      if (nearest === null || distance < nearest.distance) nearest = { one, other, distance };
    }
  }
  return nearest;
}

function remove(clusters: Clusters, cluster: number): void {
  clusters.centres.copyWithin(cluster * 3, (cluster + 1) * 3, clusters.count * 3);
  clusters.count -= 1;
}

/** The weight of each cluster's points. */
export function clusterWeights(points: Points, clusters: Clusters): Float64Array {
  const weights = new Float64Array(clusters.count);
  for (let point = 0; point < points.size; point += 1) {
    const cluster = clusters.labels[point]!;
    weights[cluster] = weights[cluster]! + points.weight[point]!;
  }
  return weights;
}

/** Alternates assignment and moves until the improvement is too small. Ends with an assignment. */
function iterate(points: Points, clusters: Clusters, move: Move, rounds: number): void {
  let before = assign(points, clusters);
  for (let round = 0; round < rounds; round += 1) {
    move(points, clusters);
    const cost = assign(points, clusters);
    if (before - cost <= MIN_IMPROVEMENT * before) return;
    before = cost;
  }
}

/** Labels each point with its nearest centre; returns the weighted sum of the distances. */
export function assign(points: Points, clusters: Clusters): number {
  const { size, lightness, a, b, weight } = points;
  const { count, centres, labels } = clusters;
  let sum = 0;
  for (let point = 0; point < size; point += 1) {
    const pointLightness = lightness[point]!;
    const pointA = a[point]!;
    const pointB = b[point]!;
    let nearest = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let cluster = 0, at = 0; cluster < count; cluster += 1, at += 3) {
      const x = centres[at]! - pointLightness;
      const y = centres[at + 1]! - pointA;
      const z = centres[at + 2]! - pointB;
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

function moveToMeans(points: Points, clusters: Clusters): void {
  const { lightness, a, b, weight } = points;
  const sums = new Float64Array(clusters.count * 4);
  for (let point = 0; point < points.size; point += 1) {
    const pull = weight[point]!;
    const at = clusters.labels[point]! * 4;
    sums[at] = sums[at]! + pull * lightness[point]!;
    sums[at + 1] = sums[at + 1]! + pull * a[point]!;
    sums[at + 2] = sums[at + 2]! + pull * b[point]!;
    sums[at + 3] = sums[at + 3]! + pull;
  }
  moveToSums(clusters, sums);
}

/**
 * One step of Weiszfeld's iteration towards the geometric median: a mean in which each point
 * pulls by its weight over its distance. (E. Weiszfeld, "Sur le point pour lequel la somme des
 * distances de n points donnés est minimum", 1937.)
 */
function moveToMedians(points: Points, clusters: Clusters): void {
  const { lightness, a, b, weight } = points;
  const { centres, labels } = clusters;
  const sums = new Float64Array(clusters.count * 4);
  for (let point = 0; point < points.size; point += 1) {
    const cluster = labels[point]!;
    const x = lightness[point]!;
    const y = a[point]!;
    const z = b[point]!;
    const square =
      (centres[cluster * 3]! - x) ** 2 +
      (centres[cluster * 3 + 1]! - y) ** 2 +
      (centres[cluster * 3 + 2]! - z) ** 2;
    const pull = weight[point]! / Math.sqrt(square + SOFTENING * SOFTENING);
    const at = cluster * 4;
    sums[at] = sums[at]! + pull * x;
    sums[at + 1] = sums[at + 1]! + pull * y;
    sums[at + 2] = sums[at + 2]! + pull * z;
    sums[at + 3] = sums[at + 3]! + pull;
  }
  moveToSums(clusters, sums);
}

/** Moves centres to weighted means; a cluster without points keeps its centre. */
function moveToSums(clusters: Clusters, sums: Float64Array): void {
  for (let cluster = 0; cluster < clusters.count; cluster += 1) {
    const pull = sums[cluster * 4 + 3]!;
    if (pull === 0) continue;
    for (let axis = 0; axis < 3; axis += 1) {
      clusters.centres[cluster * 3 + axis] = sums[cluster * 4 + axis]! / pull;
    }
  }
}

/**
 * Splits the cluster whose split across its longest axis lowers the variance within clusters most.
 * Returns false if no split gains; then only the centres have moved to their means.
 */
function split(points: Points, clusters: Clusters): boolean {
  moveToMeans(points, clusters);
  const axes = longestAxes(points, clusters);
  const slices = slicePoints(points, clusters, axes);
  let best = { cluster: -1, slice: -1, gain: MIN_GAIN };
  for (let cluster = 0; cluster < clusters.count; cluster += 1) {
    const { slice, gain } = bestSlice(slices, cluster);
    if (gain > best.gain) best = { cluster, slice, gain };
  }
  if (best.cluster < 0) return false;
  for (let point = 0; point < points.size; point += 1) {
    if (clusters.labels[point] !== best.cluster) continue;
    if (slices.ofPoint[point]! > best.slice) clusters.labels[point] = clusters.count;
  }
  clusters.count += 1;
  moveToMeans(points, clusters);
  return true;
}

/** A unit vector for each cluster and the standard deviation along it. Centres must be means. */
function longestAxes(points: Points, clusters: Clusters): Float64Array {
  const { lightness, a, b, weight } = points;
  const { centres, labels, count } = clusters;
  const moments = new Float64Array(count * 7);
  for (let point = 0; point < points.size; point += 1) {
    const pull = weight[point]!;
    const cluster = labels[point]!;
    const x = lightness[point]! - centres[cluster * 3]!;
    const y = a[point]! - centres[cluster * 3 + 1]!;
    const z = b[point]! - centres[cluster * 3 + 2]!;
    const at = cluster * 7;
    moments[at] = moments[at]! + pull * x * x;
    moments[at + 1] = moments[at + 1]! + pull * x * y;
    moments[at + 2] = moments[at + 2]! + pull * x * z;
    moments[at + 3] = moments[at + 3]! + pull * y * y;
    moments[at + 4] = moments[at + 4]! + pull * y * z;
    moments[at + 5] = moments[at + 5]! + pull * z * z;
    moments[at + 6] = moments[at + 6]! + pull;
  }
  const axes = new Float64Array(count * 4);
  for (let cluster = 0; cluster < count; cluster += 1) {
    axes.set(longestAxis(moments.subarray(cluster * 7, cluster * 7 + 7)), cluster * 4);
  }
  return axes;
}

/** The first principal axis, by power iteration, from the six second moments and their weight. */
function longestAxis(moments: Float64Array): [number, number, number, number] {
  const xx = moments[0]!;
  const xy = moments[1]!;
  const xz = moments[2]!;
  const yy = moments[3]!;
  const yz = moments[4]!;
  const zz = moments[5]!;
  const weight = moments[6]!;
  // The column of the widest coordinate is never perpendicular to the longest axis.
  let [x, y, z] = xx >= yy && xx >= zz ? [xx, xy, xz] : yy >= zz ? [xy, yy, yz] : [xz, yz, zz];
  let length = Math.hypot(x, y, z);
  for (let round = 0; round < 12 && length > 0; round += 1) {
    [x, y, z] = [x / length, y / length, z / length];
    [x, y, z] = [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
    length = Math.hypot(x, y, z);
  }
  if (length === 0 || weight === 0) return [0, 0, 0, 0];
  return [x / length, y / length, z / length, Math.sqrt(length / weight)];
}

interface Slices {
  /** The slice of each point, along the axis of its cluster. */
  ofPoint: Uint8Array;
  /** Weight, and weight times position on the axis, of each slice of each cluster. */
  weight: Float64Array;
  place: Float64Array;
}

function slicePoints(points: Points, clusters: Clusters, axes: Float64Array): Slices {
  const { lightness, a, b, weight } = points;
  const { centres, labels, count } = clusters;
  const slices: Slices = {
    ofPoint: new Uint8Array(points.size),
    weight: new Float64Array(count * SLICES),
    place: new Float64Array(count * SLICES),
  };
  for (let point = 0; point < points.size; point += 1) {
    const cluster = labels[point]!;
    const deviation = axes[cluster * 4 + 3]!;
    if (deviation === 0) continue;
    const place =
      (lightness[point]! - centres[cluster * 3]!) * axes[cluster * 4]! +
      (a[point]! - centres[cluster * 3 + 1]!) * axes[cluster * 4 + 1]! +
      (b[point]! - centres[cluster * 3 + 2]!) * axes[cluster * 4 + 2]!;
    const slice = Math.floor((place / (2 * REACH * deviation) + 0.5) * SLICES);
    const inside = Math.min(Math.max(slice, 0), SLICES - 1);
    slices.ofPoint[point] = inside;
    const at = cluster * SLICES + inside;
    slices.weight[at] = slices.weight[at]! + weight[point]!;
    slices.place[at] = slices.place[at]! + weight[point]! * place;
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
