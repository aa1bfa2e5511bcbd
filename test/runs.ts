/**
 * Cases of a property: a quarter, so that all tests can run often. The variable ORIEL_RUNS sets `all` or another
 * number.
 */
export function runs(all: number): number {
  const given = process.env['ORIEL_RUNS'];
  if (given === undefined) return Math.ceil(all / 4);
  return given === 'all' ? all : Number(given);
}
