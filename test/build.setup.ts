import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Threads and the binary run built code only, so a stale build would test yesterday's program. */
export default function buildOnce(): void {
  const root = fileURLToPath(new URL('..', import.meta.url));
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
}
