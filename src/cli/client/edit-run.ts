import { Failure } from '../../failure.ts';
import { objectOf } from '../../schema/untrusted.ts';
import { readFlags } from '../command/flags.ts';
import { Spinner } from '../terminal/spinner.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { editFlags, resultFlags } from './client-flags.ts';
import { finishTask } from './finish-task.ts';
import { modelFor, promptOf } from './generate-run.ts';
import { stemOf } from './result-names.ts';
import { Results } from './results.ts';
import { inSession } from './session.ts';
import { outputsOf, readSubmission } from './task-record.ts';
import { fileOf } from './upload.ts';

const PATH = '/v1/images/edits';

/**
 * Edits images and saves the result. The daemon responds with the result, or with a task where that
 * takes longer than `limits.syncWait`.
 *
 * @param flags as commander parsed them
 * @returns the exit code
 * @throws Failure
 */
export async function runEdit(
  images: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const options = readFlags(editFlags, flags);
  const resultOptions = readFlags(resultFlags, flags);
  const prompt = await promptOf(options.prompt);
  return inSession(flags, async (session) => {
    const { client } = session;
    const { id: model } = await modelFor(client, options.model);
    const { size, quality, n, seed, mask, idempotencyKey } = options;
    const results = new Results(client, resultOptions, stemOf(prompt, 'image'), n ?? 1);
    const form = new FormData();
    for (const [name, value] of Object.entries({ model, prompt, size, quality, n, seed })) {
      if (value !== undefined) form.set(name, String(value));
    }
    const name = images.length > 1 ? 'image[]' : 'image';
    for (const image of images) form.append(name, await fileOf(image));
    if (mask !== undefined) form.set('mask', await fileOf(mask));

    const spinner = new Spinner(!resultOptions.quiet);
    spinner.show(model);
    results.prepare();
    // If the response is lost, its task is still in the list of tasks.
    session.resumeHint = '`oriel tasks` lists its task';
    const headers = {
      prefer: 'respond-async',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const answer = await client
      .form(PATH, form, headers)
      .catch((error: unknown) => {
        const isLost = error instanceof Failure && error.code === 'connection_lost';
        if (!isLost && !session.signal.aborted) session.resumeHint = null;
        throw error;
      })
      .finally(() => spinner.stop());
    const submission = readSubmission(answer);
    if (submission !== null) return finishTask(session, submission, results, resultOptions);
    const document = objectOf(answer);
    const saved = await results.save(outputsOf(document));
    session.resumeHint = null;
    if (resultOptions.json) await print(`${jsonText({ ...document, saved })}\n`);
    return 0;
  });
}
