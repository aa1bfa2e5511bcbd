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

export function moveToMeans(points: Points, clusters: Clusters): void {
  move(points, clusters, false);
}

/** Smallest distance, which avoids an infinite weight; a third of one 8-bit level. */
const SOFTENING = 1e-3;

/**
 * One step of Weiszfeld's iteration towards the geometric median: a mean in which each point
 * pulls by its weight over its distance. (E. Weiszfeld, "Sur le point pour lequel la somme des
 * distances de n points donnés est minimum", 1937.)
 */
export function moveToMedians(points: Points, clusters: Clusters): void {
  move(points, clusters, true);
}

/**
 * Moves centres to weighted means; a cluster without points keeps its centre.
 *
 * @param nearest whether the weight of a point is divided by its distance from the centre
 */
function move(
  { size, places, weight }: Points,
  { count, centres, labels }: Clusters,
  nearest: boolean,
): void {
  const sums = new Float64Array(count * 4);
  for (let point = 0; point < size; point += 1) {
    const cluster = labels[point]!;
    const x = places[point * 3]!;
    const y = places[point * 3 + 1]!;
    const z = places[point * 3 + 2]!;
    let pull = weight[point]!;
    if (nearest) {
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
