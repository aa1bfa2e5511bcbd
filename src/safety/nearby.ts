/** The ranges that begin within `reach` words of an index. The list is sorted by `start`. */
export function nearby<T extends { readonly start: number }>(
  list: readonly T[],
  at: number,
  reach: number,
): readonly T[] {
  if (list.length === 0) return list;
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]!.start < at - reach) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < list.length && list[end]!.start <= at + reach) end++;
  return list.slice(low, end);
}
