import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../api/resource.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Composer, readPictures } from './composer.tsx';
import type { AnswerTurn, Settings } from './formats/conversation.ts';
import { FORMATS } from './formats/formats.ts';
import { Exchange, Inspector } from './inspector.tsx';
import { Choices } from './settings.tsx';
import type { ChatStore } from './store.ts';
import { Turns, toEnd } from './turns.tsx';
import { settingsFaults } from './validation.ts';

const WIDE = matchMedia('(min-width: 64rem)');

interface PlaygroundProps {
  readonly chat: ChatStore;
  readonly models: readonly Model[];
}

/** A conversation with its settings, and the requests of its answers. */
export function Playground({ chat, models }: PlaygroundProps) {
  const { settings, turns, draft } = chat.state;
  const [inspected, setInspected] = useState<number | null>(null);
  const isWide = useMatch(WIDE);
  const field = useRef<HTMLTextAreaElement>(null!);
  const model = models.find(({ id }) => id === settings.model) ?? models[0]!;
  const obstacle = obstacleOf(settings, model);
  const shown = turns.find((turn): turn is AnswerTurn => turn.id === inspected);
  const addPictures = (pictures: typeof draft.pictures) =>
    chat.changeDraft({ pictures: [...chat.state.draft.pictures, ...pictures] });
  const onDrop = async (event: DragEvent) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    addPictures(await readPictures(files));
  };
  return (
    <div class="stack chat">
      <Choices
        {...{ settings, models, model, isWide }}
        answers={turns.filter((turn) => turn.type === 'answer' && !turn.isStreaming).length}
        onChange={(change) => chat.changeSettings(change)}
      />
      <section
        class="stack talk"
        aria-label="Conversation"
        onDragOver={(event) => event.preventDefault()}
        onDrop={onDrop}
      >
        <Turns
          {...{ chat, model, inspected, field }}
          isBlocked={chat.isStreaming || obstacle !== null}
          onInspect={setInspected}
        />
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
          onSend={() => {
            chat.send(model);
            toEnd();
          }}
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
