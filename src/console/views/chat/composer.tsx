import { useState } from 'preact/hooks';
import { Button, CloseButton, FileButton } from '../../components/button.tsx';
import { Form, reporting } from '../../components/field.tsx';
import { useTransfers } from '../../components/files.ts';
import { formatBytes } from '../../components/format.ts';
import { showToast } from '../../components/toast.tsx';
import type { Picture } from './formats/conversation.ts';
import type { Talk } from './store.ts';

/** The field for the next message. */
export function Composer({ talk }: { readonly talk: Talk }) {
  const { chat, model, also, field, obstacle } = talk;
  const isStreaming = chat.isStreaming || also?.chat.isStreaming === true;
  const [isReading, setReading] = useState(false);
  const { draft } = chat.state;
  const isEmpty = draft.text.trim() === '' && draft.pictures.length === 0;
  const canSend = !isEmpty && !isStreaming && !isReading && obstacle === null;
  const add = async (files: readonly File[]) => {
    setReading(true);
    const pictures: Picture[] = [];
    for (const result of await Promise.allSettled(files.map(pictureOf))) {
      if (result.status === 'fulfilled') pictures.push(result.value);
      else showToast((result.reason as Error).message, { isFault: true });
    }
    // The draft may have changed in the meantime.
    chat.changeDraft({ pictures: [...chat.state.draft.pictures, ...pictures] });
    setReading(false);
  };
  useTransfers(({ files }) => void add([...files]));
  const submit = () => {
    if (!canSend) return;
    also?.chat.sendSame(chat.state, also.model);
    chat.send(model);
    toEnd();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of characters.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  const stop = () => {
    chat.stop();
    also?.chat.stop();
    field.current!.focus();
  };
  return (
    <Form class="composer card" onSubmit={submit}>
      <label for="message" class="hidden">
        Message
      </label>
      <textarea
        id="message"
        ref={field}
        rows={3}
        dir="auto"
        placeholder="Message"
        aria-describedby="message-hint"
        value={draft.text}
        onInput={reporting((text) => chat.changeDraft({ text }))}
        onKeyDown={onKeyDown}
      />
      {draft.pictures.length > 0 && (
        <Pictures
          pictures={draft.pictures}
          onRemove={(index) => chat.changeDraft({ pictures: draft.pictures.toSpliced(index, 1) })}
        />
      )}
      <div class="row">
        <FileButton label="Image files" isBusy={isReading} onFiles={add}>
          Add images
        </FileButton>
        <span id="message-hint" class={obstacle ? 'fault' : 'hint'}>
          {obstacle ?? 'Enter sends, Shift+Enter starts a line'}
        </span>
        <span class="end">
          {isStreaming ? (
            <Button onClick={stop}>Stop</Button>
          ) : (
            <Button kind="primary" type="submit" disabled={!canSend}>
              Send
            </Button>
          )}
        </span>
      </div>
    </Form>
  );
}

interface PicturesProps {
  readonly pictures: readonly Picture[];
  readonly onRemove?: (index: number) => void;
}

/** Pictures of a message, small. */
export function Pictures({ pictures, onRemove }: PicturesProps) {
  return (
    <ul class="pictures" aria-label="Images">
      {pictures.map(({ name, url, note }, index) => (
        <li key={index} class="removable">
          <img src={url} alt={name} title={`${name}, ${note}`} />
          <span class="hint">{note}</span>
          {onRemove && <CloseButton label={`Remove ${name}`} onClick={() => onRemove(index)} />}
        </li>
      ))}
    </ul>
  );
}

/** Types that models read. */
const READ = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/** Bytes up to which a picture is sent as it is. Larger ones would not fit into the storage of a tab. */
const UNCHANGED_BYTES = 400_000;

/** Longest side to which larger ones are scaled: providers scale to about this themselves. */
const SIDE = 1568;

/** A file as a picture for a message. @throws Error if the browser cannot read it as an image */
async function pictureOf(file: File): Promise<Picture> {
  if (READ.has(file.type) && file.size <= UNCHANGED_BYTES) {
    return { name: file.name, url: await dataUrlOf(file), note: formatBytes(file.size) };
  }
  const { blob, width, height } = await scaled(file);
  const note = `scaled to ${width} × ${height}, ${formatBytes(blob.size)}`;
  return { name: file.name, url: await dataUrlOf(blob), note };
}

async function scaled(file: File) {
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name} is not an image that this browser can read.`);
  }
  const factor = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * factor));
  canvas.height = Math.max(1, Math.round(bitmap.height * factor));
  canvas.getContext('2d')!.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const blob = await new Promise<Blob | null>((resolve) =>
    canvas.toBlob(resolve, 'image/webp', 0.85),
  );
  if (!blob) throw new Error(`${file.name} is too large for this browser.`);
  return { blob, width: canvas.width, height: canvas.height };
}

function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error('The file could not be read.'));
    reader.readAsDataURL(blob);
  });
}

/** Scrolls to the last message once it is rendered. */
export function toEnd(): void {
  requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
}
