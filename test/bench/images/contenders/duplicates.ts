/** Groups random hashes of 64 bits with Oriel's module; without a threshold, only makes them. */
const [count, module, threshold] = process.argv.slice(2);
if (count === undefined || module === undefined) throw new Error('expected COUNT, MODULE');

// A linear congruential generator with the constants of Numerical Recipes.
let state = 1;
const part = (): string => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return (state >>> 16).toString(16).padStart(4, '0');
};
const pictures = Array.from({ length: Number(count) }, () => ({
  hash: part() + part() + part() + part(),
  width: 4,
  height: 3,
}));
if (threshold !== undefined) {
  const { groupSimilar } = await import(module);
  process.stdout.write(`${new Set(groupSimilar(pictures, Number(threshold))).size}\n`);
}
