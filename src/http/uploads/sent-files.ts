import { Failure } from '../../failure.ts';
import { sizeText } from '../../images/byte-size.ts';
import type { SentFile } from '../../media/task/call.ts';
import type { Form, FormFile, FormShape } from './form.ts';

/** The files of a form's field. @throws Failure 413 if one was too large to be kept */
export function sentFiles({ files }: Form, name: string, { fileBytes }: FormShape): SentFile[] {
  return files
    .get(name)!
    .map((file, index, all) =>
      keptFile(file, all.length === 1 ? name : `${name}[${index}]`, fileBytes),
    );
}

function keptFile({ path, size }: FormFile, param: string, most: number): SentFile {
  if (path !== null) return { path, size };
  const limit = `${sizeText(most)} (${most} bytes)`;
  throw new Failure(
    'invalid_request',
    `${param}: expected at most ${limit}, received ${size} bytes`,
    {
      param,
      code: 'file_too_large',
    },
  );
}
