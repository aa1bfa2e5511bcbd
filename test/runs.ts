/**
 * Runs of a property: a quarter in `npm test`, which is run often, and otherwise all. The variable ORIEL_RUNS sets
 * another number.
 */
export function runs(all: number): number {
  const { ORIEL_RUNS: given, npm_lifecycle_event: script } = process.env;
  if (given !== undefined) return Number(given);
  return script === 'test' ? Math.ceil(all / 4) : all;
}
