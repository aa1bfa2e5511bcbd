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

/** Smallest distance, which avoids an infinite weight; a third of one 8-bit level. */
const SOFTENING = 1e-3;
/** The weight of each cluster's points. */
export function clusterWeights(points: Points, clusters: Clusters): Float64Array {
  const weights = new Float64Array(clusters.count);
  for (let point = 0; point < points.size; point += 1) {
    const cluster = clusters.labels[point]!;
    weights[cluster] = weights[cluster]! + points.weight[point]!;
  }
  return weights;
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

export function moveToMeans(points: Points, clusters: Clusters): void {
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
export function moveToMedians(points: Points, clusters: Clusters): void {
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
