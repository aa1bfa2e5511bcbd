import { useEffect, useRef, useState } from 'preact/hooks';
import type { CatalogAnswer } from '../../../http/owner/models.ts';
import type { UsageRow } from '../../../http/routes/account/usage.ts';
import { sendJson } from '../../api/request.ts';
import { useRefresh, useResource } from '../../api/resource.ts';
import type { Session } from '../../api/session.ts';
import { keepFirst, readKept } from '../../api/storage.ts';
import { CloseButton } from '../../components/button.tsx';
import { Link } from '../../components/navigation.tsx';
import type { Key, Outcome } from '../accounts/lists.ts';
import type { Provider } from '../models/actions.ts';

const STORED = 'oriel-checklist';
const REFRESH_MS = 5000;

/** The list stays closed in this browser. */
const keepClosed = () => keepFirst(STORED, [true], 'localStorage');

type Step = readonly [isDone: boolean, to: string, title: string, text: string];

/** The first steps, each ticked by what the server has. */
async function loadSteps(session: Session, signal: AbortSignal): Promise<readonly Step[]> {
  const get = <Answer,>(path: string) => sendJson<Answer>(`v1/admin/${path}`, { signal });
  const [providers, health, keys, usage] = await Promise.all([
    get<Outcome<{ readonly providers: readonly Provider[] }>>('providers/list'),
    get<CatalogAnswer>('models'),
    get<Outcome<{ readonly keys: readonly Key[] }>>('keys/list?limit=100'),
    get<{ readonly data: readonly UsageRow[] }>('usage?by=key'),
  ]);
  const own = providers.result.providers.filter(({ place }) => place !== 'the sandbox');
  const names = own.map(({ name }) => name);
  const answered = health.providers.filter((one) => one.last_success !== null);
  const isOffered = health.models.some(({ routes }) =>
    routes.some(({ provider }) => names.includes(provider)),
  );
  const isOther = (id: string | null | undefined) =>
    typeof id === 'string' && id !== session.key.id;
  const isUsed = usage.data.some(({ key_id: id, requests }) => isOther(id) && requests > 0);
  const hasKey = keys.result.keys.some(({ id, status }) => isOther(id) && status === 'active');
  return [
    [
      own.length > 0,
      'models?add=provider',
      'Add a provider',
      'OpenAI, Anthropic, Gemini, or any server with one of their interfaces. Its key is stored encrypted.',
    ],
    [
      isOffered && (isUsed || answered.some(({ name }) => names.includes(name))),
      'models',
      'Test it and choose its models',
      'The test asks for its list of models and for one short answer.',
    ],
    [
      hasKey,
      'accounts?new=key',
      'Make an API key',
      'For an application or a person, with limits if you like.',
    ],
    [
      isUsed,
      'connect',
      'Connect a client',
      'Copy its configuration, and see its first request arrive.',
    ],
  ];
}

/** What is left to do until a client gets answers, for the owner; nothing once all is done. */
export function Checklist({ session }: { readonly session: Session }) {
  const [isClosed, setClosed] = useState(() => readKept(STORED, 'localStorage') === true);
  const { data: steps, reload } = useResource(
    async (signal) => (isClosed ? undefined : loadSteps(session, signal)),
    [isClosed],
  );
  const isDone = steps?.every(([done]) => done) ?? false;
  /** Whether a step was open when the page came: the end of the last one is shown then. */
  const wasOpen = useRef(false);
  useEffect(() => {
    if (isDone) keepClosed();
    else if (steps) wasOpen.current = true;
  }, [steps]);
  useRefresh(() => isClosed || isDone || reload(), REFRESH_MS);
  if (isClosed || !steps || (isDone && !wasOpen.current)) return null;
  const close = () => {
    keepClosed();
    setClosed(true);
  };
  const next = steps.findIndex(([done]) => !done);
  return (
    <section class="card checklist" aria-labelledby="checklist">
      <div class="row">
        <h2 id="checklist">{isDone ? 'All set' : 'First steps'}</h2>
        <span class="muted">
          {steps.filter(([done]) => done).length} of {steps.length} done
        </span>
        <span class="end">
          <CloseButton label="Close the first steps" onClick={close} />
        </span>
      </div>
      <ol class="stack">
        {steps.map(([done, to, title, text], index) => (
          <li key={title} class={done ? 'done' : undefined}>
            <span class={`badge ${done ? 'good' : ''}`}>{done ? 'done' : index + 1}</span>
            <div>
              <Link to={to} aria-current={index === next ? 'step' : undefined}>
                {title}
              </Link>
              <p class="muted">{text}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
