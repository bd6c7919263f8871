// layout.ts places boxes in layers, left to right: enough for plans, which are small graphs without cycles.
//   L1  A box is in the layer after the last one that feeds it, so every edge points to the right.
//   L2  In a layer, boxes are ordered by the middle of what feeds them, so that edges cross little; ties keep the order of numbers.
//   L3  Layers are centred on one axis; nothing overlaps.

export interface Box {
  readonly width: number;
  readonly height: number;
}

export interface Placed extends Box {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly boxes: readonly Placed[];
  readonly width: number;
  readonly height: number;
}

export interface Gaps {
  /** Between layers; edge labels lie there. */
  readonly layer: number;
  /** Between boxes of one layer. */
  readonly box: number;
  readonly margin: number;
}

/**
 * @param boxes  in topological order
 * @param edges  pairs of indices, the first smaller than the second
 */
export function layOut(boxes: readonly Box[], edges: readonly (readonly [number, number])[], gaps: Gaps): Layout {
  const layers = orderLayers(layersOf(boxes.length, edges), edges);
  const heightOf = (layer: readonly number[]): number =>
    layer.reduce((sum, box) => sum + (boxes[box] as Box).height, 0) + gaps.box * Math.max(0, layer.length - 1);
  const tallest = Math.max(0, ...layers.map(heightOf));
  const placed: Placed[] = [];
  let x = gaps.margin;
  for (const layer of layers) {
    const width = Math.max(...layer.map((box) => (boxes[box] as Box).width));
    let y = gaps.margin + (tallest - heightOf(layer)) / 2;
    for (const index of layer) {
      const box = boxes[index] as Box;
      placed[index] = { ...box, width, x, y };
      y += box.height + gaps.box;
    }
    x += width + gaps.layer;
  }
  return { boxes: placed, width: x - (layers.length === 0 ? 0 : gaps.layer) + gaps.margin, height: tallest + 2 * gaps.margin };
}

function layersOf(count: number, edges: readonly (readonly [number, number])[]): number[][] {
  const depth = new Array<number>(count).fill(0);
  for (let to = 0; to < count; to++) {
    for (const [from, target] of edges) if (target === to) depth[to] = Math.max(depth[to] as number, (depth[from] as number) + 1);
  }
  const layers: number[][] = [];
  for (const [box, layer] of depth.entries()) (layers[layer] ??= []).push(box);
  return layers;
}

function orderLayers(
  layers: readonly (readonly number[])[],
  edges: readonly (readonly [number, number])[],
): readonly (readonly number[])[] {
  const place = new Map<number, number>();
  return layers.map((layer) => {
    const middle = (box: number): number => {
      const feeding = edges.flatMap(([from, to]) => (to === box ? [place.get(from) ?? 0] : []));
      return feeding.length === 0 ? 0 : feeding.reduce((sum, at) => sum + at, 0) / feeding.length;
    };
    const ordered = [...layer].sort((a, b) => middle(a) - middle(b) || a - b);
    for (const [at, box] of ordered.entries()) place.set(box, ordered.length === 1 ? 0.5 : at / (ordered.length - 1));
    return ordered;
  });
}
