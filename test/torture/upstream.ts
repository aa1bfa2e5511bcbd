import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '../bench/free-port.ts';

const SCRIPT = fileURLToPath(new URL('./upstream-process.js', import.meta.url));

/** Upstream process that can be killed and restarted at the same address. */
export class Upstream {
  #child: ChildProcess | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#port ||= await freePort();
    const child = fork(SCRIPT, [String(this.#port)]);
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    await once(child, 'message');
  }

  async kill(): Promise<void> {
    const exit = once(this.#child!, 'exit');
    this.#child!.kill('SIGKILL');
    await exit;
  }
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
