/** The response token by token, shaded; the token under the pointer, or reached by the arrow keys, is told in a card. */
import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import { Button } from "@/components/button";
import { classNames } from "@/lib/class-names";
import { formatInteger, formatPercent } from "@/lib/numbers";
import styles from "./rollout-view.module.css";
import { gapOf, pushOf, type TokenColumns, type TokenShade } from "./token-shades";

/** So many tokens are drawn at first, and more at each request: a page of 100,000 boxes is slow. */
const PART = 4096;

export interface TokenTextProps {
  tokens: TokenColumns;
  shades: readonly TokenShade[];
  /** Text after the last recorded token. */
  rest: string;
  numTokens: number;
  advantage: number | null;
  /** Tokens in which what is looked for stands. */
  hits: ReadonlySet<number>;
  /** The token that is read; the strip above shows it too. */
  hot: number | null;
  onHot: (index: number | null) => void;
}

export function TokenText(props: TokenTextProps) {
  const { tokens, shades, rest, numTokens, advantage, hits, hot, onHot } = props;
  const [most, setMost] = useState(PART);
  const box = useRef<HTMLDivElement>(null);
  const shown = Math.min(tokens.pieces.length, Math.max(most, (hot ?? 0) + 1));
  const tokenUnder = (event: PointerEvent) => {
    const index = (event.target as HTMLElement).dataset.token;
    if (index !== undefined) onHot(Number(index));
    else if (event.pointerType !== "touch") onHot(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = tokenAfter(event.key, hot, tokens.pieces.length);
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    onHot(to);
  };
  return (
    <div className={styles.textBox}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        ref={box}
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read it token by token
        tabIndex={0}
        aria-label="Response; the arrow keys read token by token"
        className={styles.text}
        dir="auto"
        onPointerMove={tokenUnder}
        onPointerDown={tokenUnder}
        onPointerLeave={(event) => event.pointerType !== "touch" && onHot(null)}
        onKeyDown={onKeyDown}
        onBlur={() => onHot(null)}
      >
        <Tokens pieces={tokens.pieces} shades={shades} hits={hits} count={shown} />
        {shown === tokens.pieces.length && rest !== "" && <span className={styles.rest}>{rest}</span>}
      </div>
      {shown < tokens.pieces.length && (
        <p className={styles.more}>
          {formatInteger(shown)} of {formatInteger(tokens.pieces.length)} tokens{" "}
          <Button onClick={() => setMost(most + PART)}>Show more</Button>
        </p>
      )}
      <TokenCard box={box} tokens={tokens} index={hot} numTokens={numTokens} advantage={advantage} />
    </div>
  );
}

function tokenAfter(key: string, hot: number | null, count: number): number | null | undefined {
  if (key === "Escape") return null;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (key === "ArrowRight") return Math.min(count - 1, (hot ?? -1) + 1);
  if (key === "ArrowLeft") return Math.max(0, (hot ?? 1) - 1);
  return undefined;
}

interface TokensProps {
  pieces: readonly string[];
  shades: readonly TokenShade[];
  hits: ReadonlySet<number>;
  count: number;
}

const Tokens = memo(function Tokens({ pieces, shades, hits, count }: TokensProps) {
  return pieces.slice(0, count).map((piece, i) => {
    const shade = shades[i];
    return (
      <span
        // biome-ignore lint/suspicious/noArrayIndexKey: a token is its place
        key={i}
        data-token={i}
        className={classNames(shade?.isFar && styles.far, hits.has(i) && styles.hit)}
        style={shade?.token ? { background: `var(--${shade.token})`, color: inkOn(shade.token) } : undefined}
      >
        {piece}
      </span>
    );
  });
});

/** Washes are made for the page's own ink. */
function inkOn(token: string): string | undefined {
  return token.startsWith("div") ? `var(--${token}-text)` : undefined;
}

interface TokenCardProps {
  box: RefObject<HTMLDivElement | null>;
  tokens: TokenColumns;
  index: number | null;
  numTokens: number;
  advantage: number | null;
}

const CARD_PX = 196;

function TokenCard({ box, tokens, index, numTokens, advantage }: TokenCardProps) {
  const [place, setPlace] = useState<{ left: number; top: number } | null>(null);
  useEffect(() => {
    const token = index === null ? null : box.current?.querySelector<HTMLElement>(`[data-token="${index}"]`);
    if (!token || !box.current) {
      setPlace(null);
      return;
    }
    token.dataset.hot = "true";
    const [frame, at] = [box.current.getBoundingClientRect(), token.getClientRects()[0]];
    if (at) {
      const left = Math.max(0, Math.min(at.left - frame.left - 8, frame.width - CARD_PX - 8));
      setPlace({ left, top: at.bottom - frame.top + box.current.scrollTop + 6 });
      // Keys may lead out of view.
      if (box.current.contains(document.activeElement)) token.scrollIntoView({ block: "nearest" });
    }
    return () => {
      delete token.dataset.hot;
    };
  }, [box, index]);
  const facts = index === null ? [] : tokenFacts(tokens, index, numTokens, advantage);
  const piece = index === null ? "" : (tokens.pieces[index] ?? "");
  return (
    <>
      {index !== null && place && (
        <div className={styles.card} style={{ ...place, width: CARD_PX }} aria-hidden="true">
          <bdi className={styles.piece}>“{visible(piece)}”</bdi>
          <dl>
            {facts.map(({ label, value }) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </div>
      )}
      <div className="sr-only" aria-live="polite">
        {index !== null &&
          [visible(piece), ...facts.map(({ label, value }) => `${label} ${value}`)].join(", ")}
      </div>
    </>
  );
}

/** White space has no ink of its own. */
export function visible(piece: string): string {
  return piece
    .replaceAll("\n", "↵")
    .replaceAll("\t", "⇥")
    .replace(/^ +| +$/g, (run) => "␣".repeat(run.length));
}

interface TokenFact {
  label: string;
  value: string;
}

export function tokenFacts(
  tokens: TokenColumns,
  index: number,
  numTokens: number,
  advantage: number | null,
): TokenFact[] {
  const logProb = tokens.log_probs[index];
  const trainer = tokens.trainer_log_probs[index];
  const [gap, push] = [gapOf(tokens, index), pushOf(tokens, index, advantage)];
  const facts: TokenFact[] = [];
  if (logProb !== undefined) {
    facts.push({ label: "log-prob", value: decimals(logProb) });
    facts.push({ label: "probability", value: formatPercent(Math.exp(logProb)) });
  }
  if (trainer !== undefined) facts.push({ label: "trainer", value: decimals(trainer) });
  if (gap !== null) facts.push({ label: "difference", value: signed(gap) });
  if (push !== null) facts.push({ label: "push", value: signed(push) });
  facts.push({ label: "position", value: `${formatInteger(index)} of ${formatInteger(numTokens)}` });
  return facts;
}

/** Engines and trainers agree to about so many decimals. */
function decimals(value: number): string {
  return value.toFixed(4).replace("-", "−");
}

function signed(value: number): string {
  return value < 0 ? decimals(value) : `+${decimals(value)}`;
}
