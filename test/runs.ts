/**
 * Runs of a property: all of them in CI (`npm run check`), a quarter in `npm test`, or as many as the variable
 * ORIEL_RUNS says.
 */
export function runs(all: number): number {
  const given = process.env['ORIEL_RUNS'];
  if (given !== undefined) return Number(given);
  return process.env['MODE'] === 'all' ? all : Math.ceil(all / 4);
}
