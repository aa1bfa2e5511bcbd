import type { Readiness } from '../../../http/routes/server/health.ts';
import { SERVER } from '../../api/request.ts';
import { type Model, useAccount, useJson, useModels } from '../../api/resource.ts';
import { Code } from '../../components/copy.tsx';
import { formatCredits, formatNumber } from '../../components/format.ts';
import { Link, type ViewProps } from '../../components/navigation.tsx';
import { sdkCode } from '../../components/shown-request.ts';
import { Snippets } from '../../components/snippets.tsx';
import { Loaded } from '../../components/states.tsx';
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
  return (
    <>
      <h1>Overview</h1>
      {models.data && isSandbox(models.data) && session.owner && <SandboxNotice />}
      <div class="columns">
        <Credits />
        <section class="card" aria-labelledby="models">
          <h2 id="models">Models</h2>
          <Loaded resource={models}>{(list) => <ModelCounts models={list} />}</Loaded>
        </section>
        <Health />
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

function Credits() {
  const account = useAccount();
  return (
    <section class="card" aria-labelledby="credits">
      <h2 id="credits">Credits</h2>
      <Loaded resource={account}>
        {({ credits, plan, limits }) => (
          <>
            <p class="figure">{formatCredits(credits.available)}</p>
            <p class="facts">
              <span>{formatCredits(credits.spent)} spent</span>
              <span>{formatCredits(credits.reserved)} reserved</span>
              <span>{plan} plan</span>
              <span>{formatNumber(limits.requests_per_minute)} requests a minute</span>
            </p>
          </>
        )}
      </Loaded>
    </section>
  );
}

function ModelCounts({ models }: { readonly models: readonly Model[] }) {
  const counts = new Map<string, number>();
  for (const { type } of models) counts.set(type, (counts.get(type) ?? 0) + 1);
  return (
    <>
      <p class="figure">{formatNumber(models.length)}</p>
      <p class="facts">
        {[...counts].map(([type, count]) => (
          <span key={type}>
            {formatNumber(count)} {type}
          </span>
        ))}
      </p>
    </>
  );
}

function Health() {
  const readiness = useJson<Readiness>('readyz');
  return (
    <section class="card" aria-labelledby="health">
      <h2 id="health">Server</h2>
      <Loaded resource={readiness}>
        {({ store, upstreams }) => (
          <>
            <p class="figure">{store ? 'Needs attention' : 'Ready'}</p>
            <p class="facts">
              {store && <span>{store.reason}</span>}
              {upstreams && <span>{coolingDown(upstreams.routes.length, 'route')}</span>}
              {upstreams && <span>{coolingDown(upstreams.keys.length, 'provider key')}</span>}
              <span>{SERVER.host}</span>
            </p>
          </>
        )}
      </Loaded>
    </section>
  );
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
