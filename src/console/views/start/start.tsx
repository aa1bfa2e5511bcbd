import type { Readiness } from '../../../http/routes/server/health.ts';
import { SERVER } from '../../api/request.ts';
import { type Model, type Resource, useAccount, useJson, useModels } from '../../api/resource.ts';
import { Code } from '../../components/copy.tsx';
import { formatCredits, formatNumber } from '../../components/format.ts';
import { Link, type ViewProps } from '../../components/navigation.tsx';
import { sdkCode } from '../../components/shown-request.ts';
import { Snippets } from '../../components/snippets.tsx';
import { Loaded } from '../../components/states.tsx';
import { Checklist } from './checklist.tsx';
import css from './start.css';

export const style = css;

const ACTIONS: readonly (readonly [to: string, title: string, text: string])[] = [
  [
    'images',
    'Work on images',
    'Convert, resize and inspect files and folders, with each result beside its original.',
  ],
  [
    'chat',
    'Talk to a model',
    'Any text model in any format, streamed, with its usage and its price.',
  ],
  [
    'create',
    'Make images, video and audio',
    'From a prompt or from images, in a size chosen by its shape, with the price before.',
  ],
  [
    'tasks',
    'Follow tasks',
    'Images, video and sound as they are made, with their files, charges and callbacks.',
  ],
  ['usage', 'See where credits go', 'By day, model and key, with a CSV for a spreadsheet.'],
  ['api', 'Read the API', 'Every endpoint with its fields, and an example to copy and to send.'],
];

/** What a newcomer sees: credits, models, health, what can be done here, and how a program does it. */
export default function Start({ session }: ViewProps) {
  const models = useModels();
  const account = useAccount();
  const readiness = useJson<Readiness>('readyz');
  return (
    <>
      <h1>Overview</h1>
      {models.data && isSandbox(models.data) && session.owner && <SandboxNotice />}
      {session.owner && <Checklist session={session} />}
      <div class="columns">
        <Card id="credits" title="Credits" resource={account}>
          {({ credits, plan, limits }) => [
            formatCredits(credits.available),
            `${formatCredits(credits.spent)} spent`,
            `${formatCredits(credits.reserved)} reserved`,
            `${plan} plan`,
            `${formatNumber(limits.requests_per_minute)} requests a minute`,
          ]}
        </Card>
        <Card id="models" title="Models" resource={models}>
          {(list) => [formatNumber(list.length), ...countsOf(list)]}
        </Card>
        <Card id="health" title="Server" resource={readiness}>
          {({ store, upstreams }) => [
            store ? 'Needs attention' : 'Ready',
            store ? store.reason : false,
            upstreams ? coolingDown(upstreams.routes.length, 'route') : false,
            upstreams ? coolingDown(upstreams.keys.length, 'provider key') : false,
            SERVER.host,
          ]}
        </Card>
      </div>
      <h2>What you can do</h2>
      <ul class="columns starts">
        {ACTIONS.map(([to, title, text]) => (
          <li key={to} class="card action">
            <h3>
              <Link to={to}>{title}</Link>
            </h3>
            <p class="muted">{text}</p>
          </li>
        ))}
      </ul>
      <h2>Use it from a program</h2>
      <div class="card">
        <p>
          Clients of OpenAI, Anthropic and Gemini work with another base URL and an API key of this
          server.
        </p>
        <Loaded resource={models}>{(list) => <FirstRequest models={list} />}</Loaded>
      </div>
    </>
  );
}

function isSandbox(models: readonly Model[]): boolean {
  return models.length > 0 && models.every(({ id }) => id.startsWith('sandbox-'));
}

function SandboxNotice() {
  return (
    <div class="notice">
      <p>
        <strong>The models here are a sandbox.</strong> They make up their answers, so you can try
        everything without an account anywhere. Name providers and models in <code>oriel.yaml</code>{' '}
        to use real ones; <Link to="settings">Settings</Link> shows what is in force.
      </p>
    </div>
  );
}

interface CardProps<Data> {
  readonly id: string;
  readonly title: string;
  readonly resource: Resource<Data>;
  /** The figure, and facts about it. */
  readonly children: (data: Data) => readonly [figure: string, ...facts: (string | false)[]];
}

function Card<Data>({ id, title, resource, children }: CardProps<Data>) {
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <Loaded resource={resource}>
        {(data) => {
          const [figure, ...facts] = children(data);
          return (
            <>
              <p class="figure">{figure}</p>
              <p class="facts">{facts.map((fact) => fact && <span key={fact}>{fact}</span>)}</p>
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function countsOf(models: readonly Model[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { type } of models) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].map(([type, count]) => `${formatNumber(count)} ${type}`);
}

function coolingDown(count: number, what: string): string {
  if (count === 0) return `all ${what}s healthy`;
  return `${formatNumber(count)} ${what}${count === 1 ? '' : 's'} cooling down`;
}

function FirstRequest({ models }: { readonly models: readonly Model[] }) {
  const model = models.find(({ type }) => type === 'text')?.id;
  if (model === undefined) return <Code label="base URL" text={new URL('v1', SERVER).href} />;
  const json = { model, messages: [{ role: 'user', content: 'Hello' }] };
  const body = (fields: object) => JSON.stringify(fields, null, 2);
  return (
    <Snippets
      request={{ method: 'POST', path: 'v1/chat/completions', json }}
      others={[
        sdkCode('OpenAI', [
          `const answer = await client.chat.completions.create(${body(json)});`,
          'console.log(answer.choices[0].message.content);',
        ]),
        sdkCode('Anthropic', [
          `const answer = await client.messages.create(${body({ ...json, max_tokens: 1024 })});`,
          'console.log(answer.content);',
        ]),
      ]}
    />
  );
}
