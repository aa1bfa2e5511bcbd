import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';

const CONTENDER = fileURLToPath(new URL('lock-contender-process.mjs', import.meta.url));

/** How the process runs. */
interface ContenderOptions {
  /** `pid`: it takes the lock of systems without kernel locks. `child`: it starts a child process. */
  readonly mode?: 'pid' | 'child';
  /** A command that runs another one, such as `unshare`. */
  readonly within?: readonly string[];
}

/** Another process that opens a store. */
export class Contender {
  readonly child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: AsyncIterator<string>;

  constructor(directory: string, { mode, within = [] }: ContenderOptions) {
    const command = [...within, process.execPath, CONTENDER, directory, ...(mode ? [mode] : [])];
    this.child = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#exited = once(this.child, 'exit');
    this.#lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
    onTestFinished(() => {
      this.child.kill('SIGKILL');
    });
  }

  proceed(): void {
    this.child.stdin!.write('go\n');
  }

  async readLine(): Promise<string> {
    return (await this.#lines.next()).value as string;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#exited;
  }
}

export async function contender(
  directory: string,
  options: ContenderOptions = {},
): Promise<Contender> {
  const made = new Contender(directory, options);
  expect(await made.readLine()).toBe('ready');
  return made;
}

/** Opens one store in six processes at once: one succeeds, the others get `store_locked`. */
export async function expectOneWinner(
  directory: string,
  options: ContenderOptions = {},
): Promise<void> {
  const many = await Promise.all(Array.from({ length: 6 }, () => contender(directory, options)));
  for (const one of many) one.proceed();
  const said = await Promise.all(many.map((one) => one.readLine()));
  expect(said.filter((line) => line === 'open')).toHaveLength(1);
  expect(said.filter((line) => line.startsWith('store_locked'))).toHaveLength(5);
  await Promise.all(many.map((one) => one.kill()));
}
