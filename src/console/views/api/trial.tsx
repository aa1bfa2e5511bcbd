import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, apiErrorOf, isAborted, send } from '../../api/request.ts';
import type { Session } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Form } from '../../components/field.tsx';
import { parsed } from '../../components/json.ts';
import { Snippets } from '../../components/snippets.tsx';
import { type Answer, AnswerView, readAnswer } from './answer.tsx';
import { bodyOf, type Endpoint } from './document.ts';
import { type Draft, formOf, pathOf, shownRequest } from './draft.ts';
import { Editor } from './editor.tsx';

/** Endpoints that a session cannot use: one begins sessions, the other has a token of its own. */
const NOT_SENT = ['POST /v1/session', 'DELETE /v1/session', 'GET /metrics'];

interface TrialProps {
  readonly endpoint: Endpoint;
  readonly example: Draft;
  readonly session: Session | null;
}

/** A request to edit, to copy and to send. */
export function Trial({ endpoint, example, session }: TrialProps) {
  const [draft, setDraft] = useState(example);
  const [answer, setAnswer] = useState<Answer>();
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const isOpen = endpoint.security?.length === 0;
  const canSend = (session !== null || isOpen) && !NOT_SENT.includes(nameOf(endpoint));
  const start = async () => {
    const controller = new AbortController();
    running.current = controller;
    setBusy(true);
    setAnswer(undefined);
    const startedAt = performance.now();
    try {
      const response = await sendDraft(endpoint, draft, controller.signal);
      await readAnswer(response, startedAt, setAnswer);
    } catch (error) {
      if (!isAborted(error)) setAnswer(failed(error, startedAt));
    }
    setBusy(false);
  };
  return (
    <div class="columns trial">
      <Form class="stack" onSubmit={start}>
        <Editor endpoint={endpoint} draft={draft} onDraft={setDraft} />
        {canSend && (
          <div class="row">
            <Button kind="primary" type="submit" isBusy={isBusy}>
              Send
            </Button>
            {isBusy && <Button onClick={() => running.current?.abort()}>Stop</Button>}
          </div>
        )}
        {session === null && !isOpen && <p class="muted">Sign in to send it from here.</p>}
      </Form>
      <div class="stack">
        <Snippets request={shownRequest(endpoint, draft)} />
        <div aria-live="polite">{answer && <AnswerView answer={answer} />}</div>
      </div>
    </div>
  );
}

function nameOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

async function sendDraft(endpoint: Endpoint, draft: Draft, signal: AbortSignal): Promise<Response> {
  const { method } = endpoint;
  const body = bodyOf(endpoint);
  const path = pathOf(endpoint, draft);
  if (!body) return send(path, { method, signal });
  if (body.isForm) return send(path, { method, signal, form: await formOf(endpoint, draft) });
  const json = parsed(draft.json);
  if (json === undefined) throw new ApiError('The body is not valid JSON.');
  return send(path, { method, signal, json });
}

function failed(error: unknown, startedAt: number): Answer {
  const failure = apiErrorOf(error);
  const { status, requestId } = failure;
  const milliseconds = performance.now() - startedAt;
  return { status, requestId, milliseconds, type: '', error: failure };
}
