// Loaded into a daemon before all else: a clock that is wrong by ORIEL_TEST_CLOCK milliseconds, or by those in that file.
import { readFileSync } from 'node:fs';

const shift = process.env.ORIEL_TEST_CLOCK;
const now = Date.now;
Date.now = () => now() + Number(shift.startsWith('/') ? readFileSync(shift, 'utf8') : shift);
