import { Failure } from '../../failure.ts';
import { linkedSignal } from '../../upstream/abort-signal.ts';
import { conversationIndexOf, conversationsOf } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { emulateForSandbox } from '../emulation/emulate.ts';
import { passOn } from '../relay/client-events.ts';
import { answerFromSandbox } from '../sandbox/sandbox.ts';
import { collectAnswers } from './collect-answers.ts';
import { announceOmitted, type Outcome, type TextExecution, withoutOwn } from './execution.ts';

/** Answers by the embedded sandbox. @param deadline time of `performance.now()` by which an answer is needed */
export async function answerBySandbox(
  execution: TextExecution,
  target: Target,
  deadline: number,
): Promise<Outcome> {
  const { call, request, publicModel, inputTokens: inputs } = execution;
  const left = withoutOwn(execution, () => 'the sandbox cannot do this');
  const emulated = emulateForSandbox(left.request, target);
  announceOmitted(execution, left);
  const { signal: cancellation, release } = linkedSignal(execution.drain.signal);
  const controller = new AbortController();
  cancellation.addEventListener('abort', () => controller.abort(cancellation.reason));
  if (cancellation.aborted) controller.abort(cancellation.reason);
  const remaining = deadline - performance.now();
  const timer = setTimeout(() => cancellation.abort(deadlineFailure()), remaining);
  try {
    const origin = { name: target.provider };
    const conversations = conversationsOf(emulated.request);
    const { trace } = call.report;
    const options = { dialect: target.dialect, target, model: publicModel, origin, trace };
    return await collectAnswers(execution, request.n ?? 1, origin, async (sink, choice) => {
      const push = (event: TextEvent) => sink.push(event, choice);
      const emit = (event: TextEvent) => passOn(event, options, push);
      const inputTokens = inputs[choice] ?? 0;
      const take = emulated.filter({ emit, inputTokens });
      const one = conversations[conversationIndexOf(request, choice)]!;
      await answerFromSandbox(one, target, {
        signal: controller.signal,
        emit: (event) => {
          sink.hasOutput = true;
          take(event);
          return sink.flush() ? undefined : call.response.drained();
        },
      });
    });
  } finally {
    clearTimeout(timer);
    release();
  }
}

function deadlineFailure(): Failure {
  return new Failure('timeout', 'the sandbox did not answer in time', { code: 'total_timeout' });
}
