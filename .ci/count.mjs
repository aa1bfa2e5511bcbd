// Adds up vitest's JSON reports. Prints the failed tests, and those that passed only at their second try, at the end of
// the log, where it is not truncated:
// node count.mjs EXIT_CODE REPORT [EXIT_CODE REPORT]...
import { existsSync, readFileSync } from 'node:fs';

/** How many tests may pass at their second try: more is not the machine's noise. */
const MAX_UNSTABLE = 3;

const count = { passed: 0, failed: 0, skipped: 0 };
let unstable = 0;
const runs = process.argv.slice(2);
for (let index = 0; index < runs.length; index += 2) {
  const [code, file] = runs.slice(index, index + 2);
  const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const { numPassedTests: passed = 0, numFailedTests: failed = 0 } = report;
  count.passed += passed;
  // A run that failed without a failed test (lint, an error outside of any test), or that ran no test,
  // counts as one failure.
  count.failed += failed === 0 && (code !== '0' || passed === 0) ? 1 : failed;
  for (const { name, status: result, message, assertionResults } of report.testResults ?? []) {
    const tests = assertionResults.filter(({ status }) => status === 'failed');
    for (const { fullName, failureMessages } of tests) {
      console.log(`FAILED ${name}: ${fullName}\n${failureMessages.join('\n').slice(0, 2000)}`);
    }
    // A test that passed keeps the errors of its first try.
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status !== 'passed' || failureMessages.length === 0) continue;
      unstable += 1;
      console.log(`UNSTABLE ${name}: ${fullName}\n${failureMessages.join('\n').slice(0, 2000)}`);
    }
    // A file that could not be loaded has a message, and one whose hook failed has none: its tests were skipped.
    if (tests.length === 0 && result === 'failed') {
      console.log(
        `FAILED ${name}\n${message.slice(0, 2000) || 'a hook failed; its error is above'}`,
      );
    }
  }
  count.skipped += (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0);
}
if (unstable > MAX_UNSTABLE) {
  count.failed += 1;
  console.log(`FAILED ${unstable} tests passed only at their second try`);
}
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed === 0 && count.passed > 0 ? 0 : 1;
