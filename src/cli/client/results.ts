import { writeFile } from 'node:fs';
import { promisify } from 'node:util';
import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import { usageFailure } from '../command/command.ts';
import { Writer } from '../files/writer.ts';
import { print, printStderr } from '../terminal/terminal.ts';
import { type TerminalImages, terminalImages } from '../terminal/terminal-images.ts';
import type { resultFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';
import { extensionFits, kindOf, ResultNames } from './result-names.ts';
import type { Output } from './task-record.ts';

type ResultFlags = Omit<v.InferOutput<typeof resultFlags>, 'out'> & {
  readonly out?: string | undefined;
};

const STANDARD_STREAM = '-';

/** A result and its kind. */
interface FetchedResult {
  readonly bytes: Buffer;
  readonly extension: string;
  readonly isImage: boolean;
}

/** Stores the results of a command: in files, or one on standard output. */
export class Results {
  readonly #client: DaemonClient;
  readonly #flags: ResultFlags;
  readonly #names: ResultNames;
  readonly #writer: Writer;
  readonly #show: TerminalImages;

  /**
   * @param stem file name of results in a folder, without an extension
   * @param count results that are requested
   * @throws Failure with code `usage`, or `output_exists` where a file would be replaced
   */
  constructor(client: DaemonClient, flags: ResultFlags, stem: string, count: number) {
    const toStandardOutput = flags.out === STANDARD_STREAM;
    if (toStandardOutput && flags.json) throw usageFailure('--out - and --json exclude each other');
    if (toStandardOutput && count > 1) {
      throw usageFailure(`--out -: expected one result, received --n ${count}`);
    }
    if (toStandardOutput && process.stdout.isTTY) {
      throw usageFailure('--out -: expected a file or a pipe, received a terminal');
    }
    this.#client = client;
    this.#flags = flags;
    this.#names = new ResultNames(flags, stem);
    if (!toStandardOutput) this.#names.check(count);
    this.#writer = new Writer({ overwrite: flags.overwrite });
    this.#show = terminalImages(flags.show && !flags.json && !toStandardOutput);
  }

  /** Detects the image protocol of the terminal while the task is running. */
  prepare(): void {
    this.#show.prepare();
  }

  /**
   * Saves all results and prints their paths.
   *
   * @returns their paths
   * @throws Failure
   */
  async save(outputs: readonly Output[]): Promise<string[]> {
    if (outputs.length === 0)
      throw new Failure('service_error', 'the response of the daemon has no result');
    if (this.#flags.out === STANDARD_STREAM) {
      await print((await this.#fetch(outputs[0]!)).bytes);
      return [];
    }
    const paths = [];
    for (const output of outputs) paths.push(await this.#keep(await this.#fetch(output)));
    return paths;
  }

  async #keep(result: FetchedResult): Promise<string> {
    const path = await this.#write(result);
    if (!extensionFits(path, result.extension)) {
      printStderr(`oriel: ${path} holds ${result.extension}, whatever its name says`);
    }
    if (this.#flags.json) return path;
    if (result.isImage) await this.#show.show(result.bytes);
    await print(`${process.stdout.isTTY ? printable(path) : path}\n`);
    return path;
  }

  async #write({ bytes, extension }: FetchedResult): Promise<string> {
    for (;;) {
      const { path, replaceable } = this.#names.next(extension);
      try {
        await this.#writer.write(path, (descriptor) => promisify(writeFile)(descriptor, bytes));
        return path;
      } catch (error) {
        // Another process has created the file meanwhile.
        const taken = error instanceof Failure && error.code === 'output_exists';
        if (!taken || !replaceable) throw error;
      }
    }
  }

  async #fetch(output: Output): Promise<FetchedResult> {
    if ('base64' in output) {
      const bytes = Buffer.from(output.base64, 'base64');
      return { bytes, ...kindOf(bytes, '') };
    }
    const bytes = await this.#client.asset(output.url);
    return { bytes, ...kindOf(bytes, output.url) };
  }
}
