import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Builds before the first test: threads, processes and the binary run built code only. CI has built already. */
export default function buildOnce(): void {
  if (process.env['ORIEL_BUILT'] !== undefined) return;
  const root = fileURLToPath(new URL('..', import.meta.url));
  execFileSync(process.execPath, ['.ci/build.mjs', '--modules'], { cwd: root, stdio: 'inherit' });
}
