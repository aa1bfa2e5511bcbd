import { statSync } from 'node:fs';
import { dirname, parse, resolve } from 'node:path';
import { checkFileSize, type Limits } from '../../images/limits.ts';
import { printable } from '../../operations/batch/filename.ts';
import { digestFile } from '../../operations/cache/file-identity.ts';
import type { NamedImages } from '../../operations/definition/job.ts';
import type { Operation, Variable } from '../../operations/definition/operation.ts';
import { usageFailure } from '../command/command.ts';
import type { Input } from '../files/inputs.ts';
import type { Choices } from './image-choices.ts';

/** Paths of the images that options refer to, by their names. A recipe names them from its own folder. */
export function imagePaths(
  operation: Operation,
  { options }: Pick<Choices, 'options'>,
  origin: string | undefined,
): Map<string, string> {
  const folder = origin === undefined ? '.' : dirname(origin);
  const names = operation.images?.(options) ?? [];
  return new Map(names.map((name) => [name, resolve(folder, name)]));
}

/** Finds the images that options refer to. @throws Failure with code `usage` */
function namedImages(paths: ReadonlyMap<string, string>, limits: Limits): NamedImages {
  return Object.fromEntries(
    [...paths].map(([name, path]) => {
      const size = sizeAt(path);
      const digest = digestFile(path, limits.fileBytes);
      if (digest) return [name, { path, sha256: digest.sha256 }];
      checkFileSize(size, limits);
      throw usageFailure(`image: ${path} cannot be read as a file`);
    }),
  );
}

/** @throws Failure with code `usage` */
function sizeAt(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' || code === 'ENOTDIR' ? 'no such file' : message;
    throw usageFailure(`image: ${printable(path)}: ${reason}`);
  }
}

/** The choices with the images that options refer to, as they are now. @throws Failure with code `usage` */
export function withImages(choices: Choices): Choices {
  const { imagePaths: paths, limits } = choices;
  return paths && paths.size > 0 ? { ...choices, images: namedImages(paths, limits) } : choices;
}

/** The properties of an input that the options refer to. */
export function withVariables(
  inputs: readonly Input[],
  used: readonly Variable[],
): readonly Input[] {
  if (used.length === 0) return inputs;
  return inputs.map((input, index) => {
    const { name } = parse(input.relativePath);
    const variables = {
      ...(used.includes('name') && { name }),
      ...(used.includes('index') && { index: index + 1 }),
    };
    return { ...input, variables };
  });
}
