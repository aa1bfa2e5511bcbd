import { Failure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import { readFlags } from '../command/flags.ts';
import { jsonText } from '../terminal/json.ts';
import { print, printStderr } from '../terminal/terminal.ts';
import { uploadFlags } from './client-flags.ts';
import { inSession } from './session.ts';
import { uploadFile } from './upload-file.ts';

/**
 * Uploads images and prints their URLs, one a line. One that fails does not stop the others.
 *
 * @param flags as commander parsed them
 * @returns the exit code
 * @throws Failure
 */
export async function runUpload(
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { json } = readFlags(uploadFlags, flags);
  return inSession(flags, async ({ client, signal }) => {
    const uploads: object[] = [];
    let failed = 0;
    for (const file of files) {
      try {
        const url = await uploadFile(client, file);
        uploads.push({ file, url });
        if (!json) await print(`${printable(url)}\n`);
      } catch (error) {
        // Without a daemon or a key, all further uploads would fail as well.
        if (signal.aborted || !(error instanceof Failure) || isGeneral(error)) throw error;
        failed += 1;
        uploads.push({ file, error: { type: error.type, message: error.message } });
        printStderr(`oriel: ${error.message.includes(file) ? '' : `${file}: `}${error.message}`);
      }
    }
    if (json) await print(`${jsonText({ uploads })}\n`);
    return failed > 0 ? 1 : 0;
  });
}

function isGeneral({ type, code }: Failure): boolean {
  return type === 'auth_error' || code === 'unreachable';
}
