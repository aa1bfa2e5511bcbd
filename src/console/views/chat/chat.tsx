import { useEffect, useRef, useState } from 'preact/hooks';
import { type Model, useModels } from '../../api/resource.ts';
import { CHAT_PROMPT, keepFirst, readKept } from '../../api/storage.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Composer } from './composer.tsx';
import type { AnswerTurn, Settings } from './formats/conversation.ts';
import { FORMATS, isFormat } from './formats/formats.ts';
import { Exchange, Inspector } from './inspector.tsx';
import { Choices } from './settings.tsx';
import { type ChatStore, type Talk, useChat } from './store.ts';
import { Turns } from './turns.tsx';
import { settingsFaults } from './validation.ts';

/** Conversations with models of text. `?model=ID&format=chat` opens one of them. */
export default function Chat({ place, session }: ViewProps) {
  const chat = useChat(session.account.id);
  const other = useChat(`${session.account.id}.other`);
  const compared = place.query.get('with') ?? '';
  const models = useModels();
  useAddress(chat, place.query);
  return (
    <>
      <header class="row">
        <h1>Chat</h1>
        <NewConversation chats={[chat, other]} />
      </header>
      <Loaded resource={models}>
        {(all) => {
          const texts = all.filter(({ type }) => type === 'text');
          return texts.length === 0 ? (
            <Empty title="No text models">
              <p>This key may use none. The server's owner adds models to the configuration.</p>
            </Empty>
          ) : (
            <Playground {...{ chat, other, compared }} models={texts} />
          );
        }}
      </Loaded>
    </>
  );
}

/** Keeps the model and the format in the address, and takes them from it. */
function useAddress(chat: ChatStore, query: URLSearchParams): void {
  const { model, format } = chat.state.settings;
  const asked = { model: query.get('model'), format: query.get('format') };
  const compared = query.get('with') ?? '';
  const wanted = placeOf(chat, compared);
  useState(() => {
    take(chat, asked.model, asked.format);
    // Of a request in the log.
    const prompt = readKept<string>(CHAT_PROMPT);
    if (prompt) chat.changeDraft({ text: prompt });
    keepFirst(CHAT_PROMPT, [null]);
  });
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) take(chat, asked.model, asked.format);
    isFirst.current = false;
  }, [asked.model, asked.format]);
  useEffect(() => {
    const { settings } = chat.state;
    if (settings.model === asked.model && settings.format === asked.format) return;
    if (settings.model !== model || settings.format !== format) return;
    open(wanted, { replace: true });
  }, [wanted]);
}

/** Address of a conversation. @param compared identifier of the second model; empty for none */
function placeOf({ state: { settings } }: ChatStore, compared: string): string {
  const { model, format } = settings;
  const names = { ...(model && { model }), format, ...(compared && { with: compared }) };
  return `chat?${new URLSearchParams(names)}`;
}

function take(chat: ChatStore, model: string | null, format: string | null): void {
  const { settings } = chat.state;
  const change = {
    ...(model && model !== settings.model && { model }),
    ...(isFormat(format) && format !== settings.format && { format }),
  };
  if (Object.keys(change).length > 0) chat.changeSettings(change);
}

function NewConversation({ chats }: { readonly chats: readonly ChatStore[] }) {
  const [isAsking, setAsking] = useState(false);
  if (chats.every(({ state }) => state.turns.length === 0)) return null;
  return (
    <>
      <span class="end">
        <Button onClick={() => setAsking(true)}>New conversation</Button>
      </span>
      {isAsking && (
        <Dialog title="Start a new conversation?" onClose={() => setAsking(false)}>
          <div class="stack">
            <p>This deletes the messages. Settings and tools stay.</p>
            <div class="row">
              <Button
                kind="danger"
                onClick={() => {
                  setAsking(false);
                  for (const chat of chats) chat.clear();
                }}
              >
                Delete the messages
              </Button>
              <Button onClick={() => setAsking(false)}>Cancel</Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

const WIDE = matchMedia('(min-width: 64rem)');

interface PlaygroundProps {
  readonly chat: ChatStore;
  /** The same conversation with the model of `compared`, if that is one. */
  readonly other: ChatStore;
  readonly compared: string;
  readonly models: readonly Model[];
}

/** A conversation with its settings, and the requests of its answers. */
export function Playground({ chat, other, compared, models }: PlaygroundProps) {
  const { settings } = chat.state;
  const [inspected, setInspected] = useState<{ readonly chat: ChatStore; readonly id: number }>();
  const isWide = useMatch(WIDE);
  const field = useRef<HTMLTextAreaElement>(null);
  const model = models.find(({ id }) => id === settings.model) ?? models[0]!;
  const obstacle = obstacleOf(settings, model);
  const second = models.find(({ id }) => id === compared);
  const also = second && { chat: other, model: second };
  const talkOf = (own: Pick<Talk, 'chat' | 'model'>): Talk => ({
    ...own,
    ...{ also, obstacle, field },
    isBlocked: own.chat.isStreaming || obstacle !== null,
    inspected: inspected?.chat === own.chat ? inspected.id : null,
    onInspect: (id) => setInspected(id === null ? undefined : { chat: own.chat, id }),
  });
  const talk = talkOf({ chat, model });
  const close = () => setInspected(undefined);
  const shown = inspected?.chat.state.turns.find(
    (turn): turn is AnswerTurn => turn.type === 'answer' && turn.id === inspected.id,
  );
  return (
    <div class="stack top chat">
      <Choices
        {...{ chat, models, model, compared: second?.id ?? '', isWide }}
        onCompare={(id) => open(placeOf(chat, id), { replace: true })}
      />
      <section class="stack talk" aria-label="Conversation">
        {also ? (
          <div class="columns top" style={{ '--least': '20rem' }}>
            <section class="stack" aria-label={`Answers of ${model.id}`}>
              <Turns talk={talk} />
            </section>
            <section class="stack" aria-label={`Answers of ${also.model.id}, compared`}>
              {other.state.turns.length === 0 ? (
                <Empty title={also.model.name ?? also.model.id}>
                  <p>Each message goes to both models.</p>
                </Empty>
              ) : (
                <Turns talk={talkOf(also)} />
              )}
            </section>
          </div>
        ) : (
          <Turns talk={talk} />
        )}
        {!chat.isKept && (
          <p class="notice warn">
            This conversation is too large to be kept: it is lost if the page is reloaded.
          </p>
        )}
        <Composer talk={talk} />
      </section>
      {shown &&
        (isWide ? (
          <Inspector turn={shown} onClose={close} />
        ) : (
          <Dialog title="Request and events" onClose={close}>
            <Exchange turn={shown} />
          </Dialog>
        ))}
    </div>
  );
}

/** Why nothing can be sent; null if it can. */
function obstacleOf(settings: Settings, model: Model): string | null {
  if (settings.model !== '' && model.id !== settings.model) return 'Choose a model first.';
  return settingsFaults(settings, FORMATS[settings.format]).areNone
    ? null
    : 'Correct the settings first.';
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
