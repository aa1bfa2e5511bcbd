// Loaded into a daemon before all else: a clock that is wrong by ORIEL_TEST_CLOCK milliseconds.
const shift = Number(process.env.ORIEL_TEST_CLOCK);
const now = Date.now;
Date.now = () => now() + shift;
