import { useEffect, useRef, useState } from 'preact/hooks';
import { useAccount } from '../../api/account.ts';
import type { Model } from '../../api/models.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { formatCredits } from '../../components/format.ts';
import { Empty } from '../../components/states.tsx';
import { AnswerMessage } from './answer-message.tsx';
import { Composer, readPictures } from './composer.tsx';
import { callsOf } from './formats/answer.ts';
import type { AnswerTurn, FormatName, Turn } from './formats/conversation.ts';
import { effortsOf } from './formats/format.ts';
import { FORMAT_NAMES, FORMATS } from './formats/formats.ts';
import { Exchange, Inspector } from './inspector.tsx';
import { SettingsPanel } from './settings.tsx';
import type { ChatStore } from './store.ts';
import { UserMessage } from './user-message.tsx';
import { settingsFaults } from './validation.ts';

/** Pixels from the end of the page within which the page follows a stream. */
const FOLLOWED = 120;

const WIDE = matchMedia('(min-width: 64rem)');

interface PlaygroundProps {
  readonly chat: ChatStore;
  readonly models: readonly Model[];
}

export function Playground({ chat, models }: PlaygroundProps) {
  const { settings, turns, draft, edit } = chat.state;
  const [inspected, setInspected] = useState<number | null>(null);
  const isWide = useMatch(WIDE);
  const field = useRef<HTMLTextAreaElement>(null!);
  const model = models.find(({ id }) => id === settings.model) ?? models[0]!;
  const isUnknown = settings.model !== '' && model.id !== settings.model;
  useEffect(() => {
    if (settings.model === '') chat.changeSettings({ model: model.id });
  }, [settings.model]);
  useEffect(() => {
    const isOffered = effortsOf(model, FORMATS[settings.format]).includes(settings.effort);
    if (settings.effort !== '' && !isOffered && !isUnknown) chat.changeSettings({ effort: '' });
  }, [model.id, settings.format]);
  useEffect(() => {
    if (turns.length > 0) toEnd();
  }, []);
  useFollow(turns);
  const answers = turns.filter((turn) => turn.type === 'answer' && !turn.isStreaming).length;
  const account = useAccount([answers]);

  const areFaulty = !settingsFaults(settings, FORMATS[settings.format]).areNone;
  const obstacle = isUnknown
    ? 'Choose a model first.'
    : areFaulty
      ? 'Correct the settings first.'
      : null;
  const isBlocked = chat.isStreaming || obstacle !== null;
  const shown = turns.find((turn): turn is AnswerTurn => turn.id === inspected);
  const send = () => {
    chat.send(model);
    toEnd();
  };
  const addPictures = (pictures: typeof draft.pictures) =>
    chat.changeDraft({ pictures: [...chat.state.draft.pictures, ...pictures] });
  const onDrop = async (event: DragEvent) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    addPictures(await readPictures(files));
  };
  const panel = (
    <div class="stack">
      <SettingsPanel
        settings={settings}
        model={model}
        onChange={(change) => chat.changeSettings(change)}
      />
      {account.data && (
        <p class="hint">Credits left: {formatCredits(account.data.credits.available)}</p>
      )}
    </div>
  );
  return (
    <div class="chat">
      <div class="choices">
        <SelectField
          label="Model"
          value={settings.model}
          error={isUnknown ? `This key has no model “${settings.model}”.` : undefined}
          choices={[
            ...(isUnknown ? [[settings.model, settings.model] as const] : []),
            ...models.map(
              ({ id, name }) => [id, name && name !== id ? `${name} (${id})` : id] as const,
            ),
          ]}
          onValue={(id) => chat.changeSettings({ model: id })}
        />
        <SelectField
          label="API format"
          value={settings.format}
          choices={FORMAT_NAMES.map((name) => [name, FORMATS[name].label] as const)}
          onValue={(format) => chat.changeSettings({ format: format as FormatName })}
        />
        {isWide ? (
          panel
        ) : (
          <details class="more">
            <summary>Settings and tools</summary>
            {panel}
          </details>
        )}
      </div>
      <section
        class="talk"
        aria-label="Conversation"
        onDragOver={(event) => event.preventDefault()}
        onDrop={onDrop}
      >
        {turns.length === 0 ? (
          <FirstMessages
            model={model}
            onChoose={(text) => {
              const { text: typed } = chat.state.draft;
              chat.changeDraft({ text: typed === '' ? text : `${typed}\n${text}` });
              field.current.focus();
            }}
          />
        ) : (
          <div class="turns">
            {turns.map((turn, index) => {
              const isLast = index === turns.length - 1;
              return turn.type === 'user' ? (
                <UserMessage
                  key={turn.id}
                  turn={turn}
                  edit={edit}
                  isLast={isLast}
                  isBlocked={isBlocked}
                  onEdit={(change) => chat.changeEdit(change)}
                  onSend={() => {
                    chat.sendEdit(model);
                    field.current.focus();
                  }}
                />
              ) : (
                <AnswerMessage
                  key={turn.id}
                  turn={turn}
                  number={turns.slice(0, index + 1).filter(({ type }) => type === 'answer').length}
                  isLast={isLast}
                  isBlocked={isBlocked}
                  isInspected={turn.id === inspected}
                  onRetry={() => chat.retry(turn, model)}
                  onInspect={() => setInspected(turn.id === inspected ? null : turn.id)}
                  onResult={(call, text) => chat.changeResult(turn, call, text)}
                  onSendResults={() => {
                    chat.sendResults(model);
                    field.current.focus();
                  }}
                />
              );
            })}
          </div>
        )}
        <Announcement turns={turns} />
        {!chat.isKept && (
          <p class="notice warn">
            This conversation is too large to be kept: it is lost if the page is reloaded.
          </p>
        )}
        <Composer
          draft={draft}
          field={field}
          isStreaming={chat.isStreaming}
          obstacle={obstacle}
          onText={(text) => chat.changeDraft({ text })}
          onAdd={addPictures}
          onPictures={(pictures) => chat.changeDraft({ pictures })}
          onSend={send}
          onStop={() => {
            chat.stop();
            field.current.focus();
          }}
        />
      </section>
      {shown &&
        (isWide ? (
          <Inspector turn={shown} onClose={() => setInspected(null)} />
        ) : (
          <Dialog title="Request and events" onClose={() => setInspected(null)}>
            <Exchange turn={shown} />
          </Dialog>
        ))}
    </div>
  );
}

const FIRST_MESSAGES = [
  'Write a haiku about the sea.',
  'Explain HTTP caching in five short points.',
];

interface FirstMessagesProps {
  readonly model: Model;
  readonly onChoose: (text: string) => void;
}

function FirstMessages({ model, onChoose }: FirstMessagesProps) {
  return (
    <Empty title={`Say something to ${model.name ?? model.id}`}>
      {model.description && <p>{model.description}</p>}
      <div class="row">
        {FIRST_MESSAGES.map((text) => (
          <Button key={text} onClick={() => onChoose(text)}>
            {text}
          </Button>
        ))}
      </div>
    </Empty>
  );
}

/** Says to screen readers that an answer ended, not each of its pieces. */
function Announcement({ turns }: { readonly turns: readonly Turn[] }) {
  const [text, setText] = useState('');
  const last = turns.at(-1);
  const isStreaming = last?.type === 'answer' && last.isStreaming;
  const wasStreaming = useRef(false);
  useEffect(() => {
    if (isStreaming) setText('Waiting for the answer');
    else if (wasStreaming.current && last?.type === 'answer') setText(endOf(last));
    wasStreaming.current = isStreaming;
  }, [isStreaming]);
  return (
    <p class="hidden" role="status">
      {text}
    </p>
  );
}

function endOf({ answer, isStopped }: AnswerTurn): string {
  if (isStopped) return 'The answer is stopped';
  if (answer.error) return 'The answer failed';
  const calls = callsOf(answer).length;
  if (calls === 0) return 'The answer is complete';
  return `The answer is complete and calls ${calls === 1 ? 'a tool' : `${calls} tools`}`;
}

function useMatch(query: MediaQueryList): boolean {
  const [matches, setMatches] = useState(query.matches);
  useEffect(() => {
    const listener = () => setMatches(query.matches);
    query.addEventListener('change', listener);
    return () => query.removeEventListener('change', listener);
  }, [query]);
  return matches;
}

function toEnd(): void {
  requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
}

/** Keeps the end of the page in sight while it grows, if the reader was there. */
function useFollow(turns: readonly Turn[]): void {
  const height = useRef(0);
  useEffect(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const wasAtEnd = scrollY + clientHeight >= height.current - FOLLOWED;
    const grew = height.current !== 0 && scrollHeight > height.current;
    height.current = scrollHeight;
    if (grew && wasAtEnd) scrollTo(0, scrollHeight);
  }, [turns]);
}
